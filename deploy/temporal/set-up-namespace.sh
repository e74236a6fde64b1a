#!/bin/sh
# Makes the namespace and registers Holdfast's search attributes in it. Run again, it changes nothing.
# Reads TEMPORAL_ADDRESS and TEMPORAL_NAMESPACE, as the Temporal CLI does, and TEMPORAL_RETENTION.
set -eu
: "${TEMPORAL_NAMESPACE:?}" "${TEMPORAL_RETENTION:?}"

# For two minutes: a server that answers may still be acquiring its shards, and a new namespace takes seconds to be known.
insist() {
  what=$1
  shift
  attempts=60
  until said=$("$@" 2>&1); do
    attempts=$((attempts - 1))
    if [ "$attempts" -eq 0 ]; then
      echo "$what: $said" >&2
      exit 1
    fi
    sleep 2
  done
  echo "$what: done"
}

# By flag: these commands take the variable for the connection only, and "default" for the rest.
make_namespace() {
  temporal operator namespace describe --namespace "$TEMPORAL_NAMESPACE" ||
    temporal operator namespace create --namespace "$TEMPORAL_NAMESPACE" --retention "$TEMPORAL_RETENTION"
}

# The command pairs each name with a type of its own.
register_search_attributes() {
  temporal operator search-attribute create --namespace "$TEMPORAL_NAMESPACE" \
    --name HoldfastApp --type Keyword \
    --name HoldfastAgent --type Keyword \
    --name HoldfastUser --type Keyword \
    --name HoldfastSession --type Keyword \
    --name HoldfastStatus --type Keyword
}

insist "server" temporal operator cluster health
insist "namespace $TEMPORAL_NAMESPACE" make_namespace
insist "search attributes" register_search_attributes
# A start that carries one fails until the server has read its list anew, up to a minute later.
insist "search attributes are known" temporal workflow count --namespace "$TEMPORAL_NAMESPACE" --query \
  "HoldfastApp = '' AND HoldfastAgent = '' AND HoldfastUser = '' AND HoldfastSession = '' AND HoldfastStatus = ''"
