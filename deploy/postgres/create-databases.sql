-- Run once by the image of PostgreSQL, as its superuser, while its data folder is new. What runs users' code, and the
-- Temporal server, gets a role that owns its own databases and nothing else.
\getenv temporal_password TEMPORAL_DB_PASSWORD
\getenv holdfast_password HOLDFAST_DB_PASSWORD

-- Makes its two databases itself: see ../temporal/set-up-schema.sh.
CREATE ROLE temporal LOGIN CREATEDB PASSWORD :'temporal_password';

CREATE ROLE holdfast LOGIN PASSWORD :'holdfast_password';
CREATE DATABASE holdfast OWNER holdfast;
REVOKE CONNECT ON DATABASE holdfast FROM PUBLIC;
