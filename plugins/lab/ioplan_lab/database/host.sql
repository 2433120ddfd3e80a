-- What a host may do: read its own drive jobs, report them and its drives. The host is
-- always that of `session_user`.

CREATE OR REPLACE FUNCTION lab.drive_job_call(wanted text) RETURNS jsonb
  STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp LANGUAGE sql AS $$
  SELECT jsonb_build_object(
    'schema_version', j.schema_version, 'session', d.session, 'job', j.id,
    'person', j.person, 'host', d.host, 'drives', d.drives, 'round', d.round,
    'plan', j.plan, 'files', j.files, 'request', j.request, 'expected', d.expected)
  FROM lab.drive_job d JOIN lab.job j ON j.id = d.job
  WHERE d.session = wanted AND d.host = lab.require('host') $$;

-- States of drive jobs; returns the sessions that are to be stopped, with who wants it.
-- What is not of this host, or of an earlier round, changes nothing.
CREATE OR REPLACE FUNCTION lab.report(version text, states jsonb)
  RETURNS TABLE (session text, cancelled_by text)
  SECURITY DEFINER SET search_path = pg_catalog, pg_temp LANGUAGE plpgsql AS $$
DECLARE me text := lab.require('host'); s record;
BEGIN
  UPDATE lab.host SET seen_at = clock_timestamp(), version = left(report.version, 64)
    WHERE name = me;
  FOR s IN SELECT * FROM jsonb_to_recordset(states) AS r (
      session text, round integer, status text, exit_code integer, attempts integer,
      step text, done double precision, runs integer, unmet integer,
      iops double precision, p99_ns double precision,
      temperature_celsius double precision, left_s double precision, message text) LOOP
    BEGIN
      UPDATE lab.drive_job d SET
        status = s.status, exit_code = s.exit_code, attempts = s.attempts,
        step = left(s.step, 500), done = s.done, runs = s.runs, unmet = s.unmet,
        iops = s.iops, p99_ns = s.p99_ns, temperature_celsius = s.temperature_celsius,
        left_s = s.left_s, message = left(s.message, 4000),
        started_at = COALESCE(d.started_at,
          CASE WHEN s.status <> 'waiting' THEN clock_timestamp() END),
        ended_at = CASE WHEN s.status IN ('waiting', 'running') THEN NULL
          ELSE COALESCE(d.ended_at, clock_timestamp()) END
        WHERE d.session = s.session AND d.host = me AND d.round = s.round;
    EXCEPTION WHEN integrity_constraint_violation THEN
      CONTINUE;  -- what cannot be keeps no other from being told
    END;
  END LOOP;
  RETURN QUERY SELECT d.session, j.cancelled_by
    FROM lab.drive_job d JOIN lab.job j ON j.id = d.job
    WHERE d.host = me AND j.cancelled_by <> '' AND d.status IN ('waiting', 'running');
END $$;

-- Which of these sessions the lab does not know, or takes for open though they have ended:
-- a restored backup has lost that.
CREATE OR REPLACE FUNCTION lab.unknown(open text[], ended text[]) RETURNS SETOF text
  STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp LANGUAGE sql AS $$
  SELECT s FROM unnest(open || ended) s WHERE lab.require('host') IS NOT NULL
    AND NOT EXISTS (SELECT FROM lab.drive_job d WHERE d.session = s
      AND (s <> ALL (ended) OR d.host <> lab.my_host()
        OR d.status NOT IN ('waiting', 'running'))) $$;

-- A drive job that only its host knows: began at its shell, or lost by a restored backup.
-- The host vouches for the person, which the name says: `ada@h1`. Who knows all of another
-- host's job, its plan and what was asked, has a drive job of it.
CREATE OR REPLACE FUNCTION lab.offer(job jsonb) RETURNS void
  SECURITY DEFINER SET search_path = pg_catalog, pg_temp LANGUAGE plpgsql AS $$
DECLARE me text := lab.require('host'); r record;
BEGIN
  SELECT * INTO r FROM jsonb_to_record(job) AS r (session text, job text, round integer,
    person text, title text, drives text[], expected integer, schema_version integer,
    plan text, files jsonb, request jsonb);
  IF octet_length(offer.job::text) > 1 << 25 OR length(r.drives::text) > 65536
      OR r.round < 0 OR NOT (r.session = r.job OR starts_with(r.session, r.job || '-')
        AND substr(r.session, length(r.job) + 2) ~ '^[0-9]{3,4}$') THEN
    RETURN;
  END IF;
  INSERT INTO lab.job (id, person, title, schema_version, plan, files, request, writes)
    VALUES (r.job, left(split_part(r.person, '@', 1), 64) || '@' || me, left(r.title, 500),
      r.schema_version, r.plan, r.files, r.request, true)
    ON CONFLICT DO NOTHING;
  INSERT INTO lab.drive_job AS d (session, job, host, drives, round, expected)
    SELECT r.session, j.id, me, r.drives, r.round, r.expected FROM lab.job j
    WHERE j.id = r.job AND strpos(j.person, '@') > 0
      AND (split_part(j.person, '@', 2) = me OR j.files <> '{}'
        AND (j.plan, j.files, j.request) = (r.plan, r.files, r.request))
    ON CONFLICT (session) DO UPDATE SET round = excluded.round
      WHERE d.host = me AND d.job = excluded.job AND excluded.round > d.round;
  UPDATE public.session SET job = r.job WHERE id = r.session AND added_by = session_user;
EXCEPTION WHEN integrity_constraint_violation OR data_exception THEN
  RETURN;  -- what cannot be keeps nothing else from being told
END $$;

-- What of the queue has ended long ago is of no use.
CREATE OR REPLACE FUNCTION lab.purge() RETURNS void
  SECURITY DEFINER SET search_path = pg_catalog, pg_temp LANGUAGE sql AS $$
  DELETE FROM queue.procrastinate_jobs q USING lab.drive_job d
    WHERE d.host = lab.require('host') AND q.queue_name = d.host
      AND q.args->>'session' = d.session AND q.status NOT IN ('todo', 'doing')
      AND d.ended_at < clock_timestamp() - interval '30 days' $$;

-- The worker of this place has ended; its jobs are to be taken again.
CREATE OR REPLACE FUNCTION lab.leave() RETURNS void
  SECURITY DEFINER SET search_path = pg_catalog, pg_temp LANGUAGE sql AS $$
  DELETE FROM queue.procrastinate_workers WHERE host = lab.require('host')
    AND place = current_setting('application_name') $$;

-- The drives of this host as it sees them now; those that it no longer names are gone.
CREATE OR REPLACE FUNCTION lab.report_drives(drives jsonb) RETURNS void
  SECURITY DEFINER SET search_path = pg_catalog, pg_temp LANGUAGE plpgsql AS $$
DECLARE me text := lab.require('host');
BEGIN
  IF jsonb_array_length(drives) > 4096 THEN
    PERFORM lab.refuse('a host has 4096 drives at most');
  END IF;
  INSERT INTO lab.drive (host, name, path, serial, wwid, model, firmware, size_bytes,
      life_used, writable, reason, groups)
    SELECT me, r.name, COALESCE(left(r.path, 4096), ''),
      COALESCE(left(r.serial, 128), ''), COALESCE(left(r.wwid, 128), ''),
      COALESCE(left(r.model, 128), ''), COALESCE(left(r.firmware, 64), ''),
      greatest(COALESCE(r.size_bytes, 0), 0),
      CASE WHEN r.life_used BETWEEN 0 AND 255 THEN r.life_used END,
      COALESCE(r.writable, false), COALESCE(left(r.reason, 2000), ''),
      COALESCE(r.groups, '{}')
    FROM jsonb_to_recordset(drives) AS r (name text, path text, serial text, wwid text,
      model text, firmware text, size_bytes bigint, life_used double precision,
      writable boolean, reason text, groups text[])
    WHERE r.name ~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$'
    ON CONFLICT (host, name) DO UPDATE SET path = excluded.path,
      serial = excluded.serial, wwid = excluded.wwid, model = excluded.model,
      firmware = excluded.firmware, size_bytes = excluded.size_bytes,
      life_used = excluded.life_used, writable = excluded.writable,
      reason = excluded.reason, groups = excluded.groups, gone_since = NULL;
  UPDATE lab.drive SET gone_since = COALESCE(gone_since, clock_timestamp())
    WHERE host = me AND name NOT IN (SELECT r->>'name' FROM jsonb_array_elements(drives) r);
END $$;
