-- A role for each host, which sees and adds its own results only. After roles.sql, and
-- after the tables are there (`ioplan lab queue list` at the desk makes them); called as
-- a superuser for each host, once or again, and again after an upgrade of ioplan:
--   psql -v ON_ERROR_STOP=1 -v host=h1 -d ioplan -f hosts.sql
-- The role of h1 is `lab_h1`. It may add sessions, runs and verdicts, replace verdicts,
-- and end, tag and note a session of its own; it changes no run, and removes nothing. It
-- reports its lanes, and sees neither the queue, nor people, nor the secrets of web hooks.
-- `lab_operator` is for people: it reads all results, queues plans, reserves drives and
-- cancels. people.sql makes a role for each of them, who acts in no other's name, cancels
-- what is their own or their projects', and uses the drives that permissions leave to
-- them. `lab`, which owns the tables, is the desk's alone from then on.

SELECT format('CREATE ROLE %I NOLOGIN', name) FROM (VALUES ('lab_hosts'), ('lab_operator')) AS wanted (name)
  WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) \gexec
SELECT format('CREATE ROLE %I LOGIN', 'lab_' || :'host')
  WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'lab_' || :'host') \gexec

BEGIN;
SELECT format('GRANT lab_hosts TO %I', 'lab_' || :'host') \gexec
GRANT lab_read TO lab_operator;
GRANT USAGE ON SCHEMA public TO lab_hosts;

-- Who added a session, or reports a lane. Rows that were there before are the desk's.
ALTER TABLE session ADD COLUMN IF NOT EXISTS added_by name NOT NULL DEFAULT current_user;
ALTER TABLE desk_lane ADD COLUMN IF NOT EXISTS added_by name NOT NULL DEFAULT current_user;
ALTER TABLE session ALTER COLUMN added_by SET DEFAULT current_user;
ALTER TABLE desk_lane ALTER COLUMN added_by SET DEFAULT current_user;

-- Columns and tables that a host may write.
GRANT SELECT ON meta, env, drive, session, run, run_blob, run_telemetry, run_intervals,
  verdict, event, desk_lane TO lab_hosts;
GRANT INSERT ON env, drive, session, run, run_blob, run_telemetry, run_intervals,
  verdict, event TO lab_hosts;
GRANT UPDATE (verdict) ON verdict TO lab_hosts;
SELECT format('GRANT UPDATE (%s) ON session TO lab_hosts', string_agg(quote_ident(attname), ', '))
  FROM pg_attribute WHERE attrelid = 'session'::regclass AND attnum > 0 AND NOT attisdropped
  AND attname NOT IN ('id', 'started_at', 'backend', 'target', 'env', 'added_by') \gexec
GRANT INSERT, UPDATE, DELETE ON desk_lane TO lab_hosts;
GRANT SELECT, INSERT, DELETE ON desk_sample TO lab_hosts;

-- Tokens and secrets are read by nobody but the desk.
SELECT format('REVOKE ALL ON %I FROM lab_read', tablename) FROM pg_tables
  WHERE schemaname = 'public' AND tablename IN
  ('desk_token', 'desk_browser', 'desk_hook', 'desk_delivery', 'desk_audit') \gexec
GRANT INSERT, UPDATE ON desk_queue, desk_lock TO lab_operator;
GRANT INSERT, UPDATE, DELETE ON desk_reservation, desk_out_of_service, desk_tag TO lab_operator;
GRANT UPDATE (cancelled_by) ON desk_lane TO lab_operator;
GRANT UPDATE (tags, note) ON session TO lab_operator;

-- Who asks: `lab_ada` is ada, and `lab_operator` itself nobody in particular, who may
-- act for anyone.
CREATE OR REPLACE FUNCTION lab_is(who text) RETURNS boolean STABLE LANGUAGE sql AS
  $$ SELECT current_user = 'lab_operator' OR who = substr(current_user, 5) $$;
CREATE OR REPLACE FUNCTION lab_is_with(who text) RETURNS boolean STABLE LANGUAGE sql AS
  $$ SELECT lab_is(who) OR EXISTS (
       SELECT FROM desk_project own JOIN desk_project other USING (project)
       WHERE lab_is(own.person) AND other.person = who) $$;
-- Whether each tag of the drives, a JSON list, permits who asks; as `Permissions` does.
CREATE OR REPLACE FUNCTION lab_may_use(drives text) RETURNS boolean STABLE LANGUAGE sql AS
  $$ SELECT NOT EXISTS (
       SELECT FROM desk_tag JOIN desk_permission p USING (tag)
       WHERE drive IN (SELECT json_array_elements_text(drives::json))
       GROUP BY drive, tag
       HAVING NOT bool_or(lab_is(p.who) OR EXISTS (
         SELECT FROM desk_project WHERE '@' || project = p.who AND lab_is(person)))) $$;

-- Rows. A subquery on session sees those that its caller may see.
SELECT format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name),
       format('DROP POLICY IF EXISTS all_read ON %I', name),
       format('CREATE POLICY all_read ON %I FOR SELECT TO lab_read USING (true)', name),
       format('DROP POLICY IF EXISTS own ON %I', name),
       format('CREATE POLICY own ON %I TO lab_hosts USING (%s)', name, own)
  FROM (VALUES
    ('session', 'added_by = current_user'),
    ('desk_lane', 'added_by = current_user'),
    ('desk_sample', 'session IN (SELECT session FROM desk_lane)'),
    ('run', 'session IN (SELECT id FROM session)'),
    ('run_blob', 'session IN (SELECT id FROM session)'),
    ('run_telemetry', 'session IN (SELECT id FROM session)'),
    ('run_intervals', 'session IN (SELECT id FROM session)'),
    ('verdict', 'session IN (SELECT id FROM session)'),
    ('event', 'session IN (SELECT id FROM session)')) AS tables (name, own) \gexec

-- What people add is their own, and what they change also their projects'. A tag that
-- permits is the desk's.
SELECT format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name),
       format('DROP POLICY IF EXISTS all_read ON %I', name),
       format('CREATE POLICY all_read ON %I FOR SELECT TO lab_read USING (true)', name),
       format('DROP POLICY IF EXISTS added ON %I', name),
       format('CREATE POLICY added ON %I FOR INSERT TO lab_operator WITH CHECK (%s)',
              name, added),
       format('DROP POLICY IF EXISTS changed ON %I', name),
       format('CREATE POLICY changed ON %I FOR UPDATE TO lab_operator USING (%s)',
              name, changed),
       format('DROP POLICY IF EXISTS removed ON %I', name),
       format('CREATE POLICY removed ON %I FOR DELETE TO lab_operator USING (%s)',
              name, changed)
  FROM (VALUES
    ('desk_queue', 'lab_is(person) AND lab_may_use(drives)',
     'lab_is_with(person) AND lab_may_use(drives)'),
    ('desk_reservation', 'lab_is(person) AND lab_may_use(json_build_array(drive)::text)',
     'lab_is_with(person)'),
    ('desk_tag', 'tag NOT IN (SELECT tag FROM desk_permission)',
     'tag NOT IN (SELECT tag FROM desk_permission)')) AS tables (name, added, changed) \gexec
DROP POLICY IF EXISTS operators ON session;
CREATE POLICY operators ON session FOR UPDATE TO lab_operator USING (true);
DROP POLICY IF EXISTS operators ON desk_lane;
CREATE POLICY operators ON desk_lane FOR UPDATE TO lab_operator
  USING (lab_is_with(person));
COMMIT;
