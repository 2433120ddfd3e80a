-- The lab's tables, in the schema `lab`. Columns have types and limits, so that no row can
-- be malformed. Run as `ioplan_owner`; again after an upgrade.

CREATE SCHEMA IF NOT EXISTS lab;

-- Who asks is the role that has logged in (`session_user`), whatever SET ROLE said since.
CREATE TABLE IF NOT EXISTS lab.member (
  role name PRIMARY KEY,
  kind text NOT NULL CHECK (kind IN ('host', 'person')),
  name text NOT NULL CHECK (name ~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$'),
  admin boolean NOT NULL DEFAULT false CHECK (kind = 'person' OR NOT admin),
  UNIQUE (kind, name)
);

CREATE TABLE IF NOT EXISTS lab.host (
  name text PRIMARY KEY,
  version text NOT NULL DEFAULT '' CHECK (length(version) <= 64),
  seen_at timestamptz
);

CREATE TABLE IF NOT EXISTS lab.drive (
  host text NOT NULL REFERENCES lab.host (name),
  name text NOT NULL CHECK (name ~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$'),
  path text NOT NULL DEFAULT '' CHECK (length(path) <= 4096),
  serial text NOT NULL DEFAULT '' CHECK (length(serial) <= 128),
  wwid text NOT NULL DEFAULT '' CHECK (length(wwid) <= 128),
  model text NOT NULL DEFAULT '' CHECK (length(model) <= 128),
  firmware text NOT NULL DEFAULT '' CHECK (length(firmware) <= 64),
  size_bytes bigint NOT NULL DEFAULT 0 CHECK (size_bytes >= 0),
  life_used double precision CHECK (life_used BETWEEN 0 AND 255),
  writable boolean NOT NULL DEFAULT false,
  reason text NOT NULL DEFAULT '' CHECK (length(reason) <= 2000),
  groups text[] NOT NULL DEFAULT '{}',
  gone_since timestamptz,
  -- of people, not of the host
  tags text[] NOT NULL DEFAULT '{}',
  out_of_service text NOT NULL DEFAULT '' CHECK (length(out_of_service) <= 2000),
  PRIMARY KEY (host, name)
);

-- A tag of which only these people may start plans on its drives.
CREATE TABLE IF NOT EXISTS lab.permission (
  tag text NOT NULL,
  person text NOT NULL,
  PRIMARY KEY (tag, person)
);

CREATE TABLE IF NOT EXISTS lab.reservation (
  host text NOT NULL,
  drive text NOT NULL,
  person text NOT NULL,
  until timestamptz NOT NULL,
  why text NOT NULL DEFAULT '' CHECK (length(why) <= 2000),
  PRIMARY KEY (host, drive),
  FOREIGN KEY (host, drive) REFERENCES lab.drive (host, name) ON DELETE CASCADE
);

CREATE TABLE IF NOT EXISTS lab.job (
  id text PRIMARY KEY CHECK (id ~ '^[0-9]{8}-[0-9]{6}-[a-z0-9]{4,12}$'),
  person text NOT NULL,
  title text NOT NULL CHECK (length(title) <= 500),
  submitted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  priority integer NOT NULL DEFAULT 0 CHECK (priority BETWEEN -100 AND 100),
  schema_version integer NOT NULL,
  plan text NOT NULL CHECK (plan ~ '^plan/[^/]+$'),
  files jsonb NOT NULL CHECK (jsonb_typeof(files) = 'object'),
  request jsonb NOT NULL CHECK (jsonb_typeof(request) = 'object'),
  writes boolean NOT NULL,
  cancelled_by text NOT NULL DEFAULT ''
);

-- A plan on the drives of one host, mostly one. `session` is that of its results.
CREATE TABLE IF NOT EXISTS lab.drive_job (
  session text PRIMARY KEY,
  job text NOT NULL REFERENCES lab.job (id),
  host text NOT NULL REFERENCES lab.host (name),
  drives text[] NOT NULL CHECK (cardinality(drives) BETWEEN 1 AND 64),
  queue_job bigint,
  round integer NOT NULL DEFAULT 0,
  status text NOT NULL DEFAULT 'waiting' CHECK (status IN
    ('waiting', 'running', 'ok', 'unmet', 'refused', 'stopped', 'failed', 'died')),
  exit_code integer CHECK (exit_code BETWEEN 0 AND 255),
  attempts integer NOT NULL DEFAULT 0 CHECK (attempts BETWEEN 0 AND 1000),
  step text NOT NULL DEFAULT '' CHECK (length(step) <= 500),
  done double precision NOT NULL DEFAULT 0 CHECK (done BETWEEN 0 AND 1),
  runs integer NOT NULL DEFAULT 0 CHECK (runs BETWEEN 0 AND 10000000),
  expected integer NOT NULL DEFAULT 0 CHECK (expected BETWEEN 0 AND 10000000),
  unmet integer NOT NULL DEFAULT 0 CHECK (unmet BETWEEN 0 AND 10000000),
  iops double precision CHECK (iops BETWEEN 0 AND 1e12),
  p99_ns double precision CHECK (p99_ns BETWEEN 0 AND 1e15),
  temperature_celsius double precision CHECK (temperature_celsius BETWEEN -273 AND 1000),
  left_s double precision CHECK (left_s BETWEEN 0 AND 1e10),
  message text NOT NULL DEFAULT '' CHECK (length(message) <= 4000),
  started_at timestamptz,
  ended_at timestamptz
);
CREATE INDEX IF NOT EXISTS drive_job_by_job ON lab.drive_job (job);
CREATE INDEX IF NOT EXISTS drive_job_open ON lab.drive_job (host)
  WHERE status IN ('waiting', 'running');

CREATE OR REPLACE FUNCTION lab.my_name(wanted text) RETURNS text
  STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp LANGUAGE sql AS
  $$ SELECT name FROM lab.member WHERE role = session_user AND kind = wanted $$;
CREATE OR REPLACE FUNCTION lab.my_host() RETURNS text
  STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp LANGUAGE sql AS
  $$ SELECT lab.my_name('host') $$;
CREATE OR REPLACE FUNCTION lab.is_admin() RETURNS boolean
  STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp LANGUAGE sql AS
  $$ SELECT EXISTS (SELECT FROM lab.member WHERE role = session_user AND admin) $$;

CREATE OR REPLACE FUNCTION lab.refuse(why text) RETURNS void LANGUAGE plpgsql
  SET search_path = pg_catalog, pg_temp AS
  $$ BEGIN RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege', MESSAGE = why; END $$;

CREATE OR REPLACE FUNCTION lab.require(wanted text) RETURNS text
  STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp LANGUAGE plpgsql AS $$
DECLARE found text := lab.my_name(wanted);
BEGIN
  IF found IS NULL THEN
    PERFORM lab.refuse(format('%s is no %s of this lab', session_user, wanted));
  END IF;
  RETURN found;
END $$;

-- Whose a worker of Procrastinate is, and where it runs.
ALTER TABLE queue.procrastinate_workers ADD COLUMN IF NOT EXISTS host text
  DEFAULT lab.my_host();
ALTER TABLE queue.procrastinate_workers ADD COLUMN IF NOT EXISTS place text
  DEFAULT current_setting('application_name');
