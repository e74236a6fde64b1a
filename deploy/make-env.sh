#!/bin/sh
# Makes .env of .env.example, with random passwords for PostgreSQL and a random credential key, readable by its owner only. An .env
# that is there stays as it is: the volume of PostgreSQL knows its passwords, and what is encrypted there needs its key.
set -eu
cd "$(dirname "$0")/.."

if [ -e .env ]; then
  echo ".env is there already, and stays as it is" >&2
  exit 1
fi

password() {
  od -An -v -tx1 -N24 /dev/urandom | tr -d ' \n'
}

key() {
  head -c 32 /dev/urandom | base64 | tr -d '\n'
}

umask 077
sed \
  -e "s/^POSTGRES_PASSWORD=$/&$(password)/" \
  -e "s/^TEMPORAL_DB_PASSWORD=$/&$(password)/" \
  -e "s/^HOLDFAST_DB_PASSWORD=$/&$(password)/" \
  -e "s|^HOLDFAST_CREDENTIAL_KEYS=$|&k1:$(key)|" \
  .env.example >.env
echo "made .env, with passwords and a credential key of its own; write the key for Gemini into it"
