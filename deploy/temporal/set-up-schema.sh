#!/bin/sh
# Makes Temporal's two databases and brings their schemas to this release. Run again, it changes nothing.
# Reads SQL_HOST, SQL_PORT, SQL_USER, SQL_PASSWORD and SQL_PLUGIN, as temporal-sql-tool does.
set -eu

set_up() {
  echo "database $1: schema $2"
  temporal-sql-tool --database "$1" create-database
  temporal-sql-tool --database "$1" setup-schema --version 0.0
  temporal-sql-tool --database "$1" update-schema --schema-name "$2"
}

set_up temporal postgresql/v12/temporal
set_up temporal_visibility postgresql/v12/visibility
echo "schemas are set up"
