-- What a person may do, always in the name of `session_user`.

-- Why this person may not use a drive now; NULL if they may. What is only reserved for
-- another is waited for.
CREATE OR REPLACE FUNCTION lab.closed(me text, at_host text, wanted text) RETURNS text
  STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp LANGUAGE sql AS $$
  SELECT CASE
    WHEN d.name IS NULL THEN format('%s has no drive %s', at_host, wanted)
    WHEN d.out_of_service <> '' THEN format('%s of %s is out of service: %s',
      wanted, at_host, d.out_of_service)
    ELSE (SELECT format('%s of %s has the tag %s, which is for %s', wanted, at_host,
        p.tag, string_agg(p.person, ', ' ORDER BY p.person))
      FROM lab.permission p WHERE p.tag = ANY (d.tags)
      GROUP BY p.tag HAVING NOT bool_or(p.person = me) LIMIT 1) END
  FROM (SELECT) AS always LEFT JOIN lab.drive d ON d.host = at_host AND d.name = wanted $$;

CREATE OR REPLACE FUNCTION lab.reserved_until(me text, at_host text, wanted text[])
  RETURNS timestamptz
  STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp LANGUAGE sql AS $$
  SELECT max(until) FROM lab.reservation WHERE host = at_host AND drive = ANY (wanted)
    AND person <> me AND until > clock_timestamp() $$;

-- The lock of a drive job in its queue is that of its first drive; its process holds those
-- of all. One that waits for the end of a reservation has none: Procrastinate lets nobody
-- pass who waits longer for a lock, not even who has reserved the drive.
CREATE OR REPLACE FUNCTION lab.lock_of(me text, at_host text, wanted text[]) RETURNS text
  STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp LANGUAGE sql AS $$
  SELECT CASE WHEN lab.reserved_until(me, at_host, wanted) IS NULL
    THEN at_host || '/' || wanted[1] END $$;

-- Puts a drive job into its host's queue.
CREATE OR REPLACE FUNCTION lab.enqueue(wanted text) RETURNS void
  SECURITY DEFINER SET search_path = pg_catalog, pg_temp LANGUAGE sql AS $$
  UPDATE lab.drive_job d SET queue_job = (queue.procrastinate_defer_jobs_v1(ARRAY[ROW(
      d.host, 'ioplan.drive_job', j.priority, lab.lock_of(j.person, d.host, d.drives), NULL,
      jsonb_build_object('session', d.session),
      lab.reserved_until(j.person, d.host, d.drives)
    )::queue.procrastinate_job_to_defer_v1]))[1]
  FROM lab.job j WHERE j.id = d.job AND d.session = wanted $$;

-- A job: `{"id", "title", "schema_version", "plan", "files", "request", "priority",
-- "writes", "units": [{"host", "drives": […], "expected"}, …]}`.
CREATE OR REPLACE FUNCTION lab.submit_as(me text, job jsonb) RETURNS void
  SECURITY DEFINER SET search_path = pg_catalog, pg_temp LANGUAGE plpgsql AS $$
DECLARE why text;
BEGIN
  SELECT lab.closed(me, u->>'host', d) INTO why
    FROM jsonb_array_elements(job->'units') u,
      jsonb_array_elements_text(u->'drives') d
    WHERE lab.closed(me, u->>'host', d) IS NOT NULL LIMIT 1;
  IF why IS NOT NULL THEN PERFORM lab.refuse(why); END IF;
  IF jsonb_array_length(job->'units') NOT BETWEEN 1 AND 4096
      OR octet_length(job::text) > 1 << 25 THEN
    PERFORM lab.refuse('a job has 1 to 4096 drive jobs, and 32 MiB at most');
  END IF;
  INSERT INTO lab.job (id, person, title, priority, schema_version, plan, files, request,
      writes)
    VALUES (job->>'id', me, job->>'title', COALESCE((job->>'priority')::integer, 0),
      (job->>'schema_version')::integer, job->>'plan', job->'files', job->'request',
      (job->>'writes')::boolean);
  INSERT INTO lab.drive_job (session, job, host, drives, expected)
    SELECT format('%s-%s', job->>'id', lpad(n::text, 3, '0')), job->>'id', u->>'host',
      ARRAY(SELECT jsonb_array_elements_text(u->'drives')),
      COALESCE((u->>'expected')::integer, 0)
    FROM jsonb_array_elements(job->'units') WITH ORDINALITY AS units (u, n);
  PERFORM lab.enqueue(session) FROM lab.drive_job d WHERE d.job = submit_as.job->>'id'
    ORDER BY session;
END $$;

CREATE OR REPLACE FUNCTION lab.submit(job jsonb) RETURNS void
  SECURITY DEFINER SET search_path = pg_catalog, pg_temp LANGUAGE sql AS $$
  SELECT lab.submit_as(lab.require('person'), job) $$;

CREATE OR REPLACE FUNCTION lab.my_job(wanted text) RETURNS text
  STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp LANGUAGE plpgsql AS $$
DECLARE me text := lab.require('person'); owner text;
BEGIN
  SELECT person INTO owner FROM lab.job WHERE id = wanted;
  IF owner IS NULL THEN
    RAISE EXCEPTION USING ERRCODE = 'no_data_found', MESSAGE = 'there is no job ' || wanted;
  ELSIF owner <> me AND NOT lab.is_admin() THEN
    PERFORM lab.refuse(format('%s is a job of %s', wanted, owner));
  END IF;
  RETURN me;
END $$;

-- Ends what has not ended; returns how many drive jobs that are.
CREATE OR REPLACE FUNCTION lab.cancel(wanted text) RETURNS integer
  SECURITY DEFINER SET search_path = pg_catalog, pg_temp LANGUAGE plpgsql AS $$
DECLARE me text := lab.my_job(wanted); open integer;
BEGIN
  SELECT count(*) INTO open FROM lab.drive_job
    WHERE job = wanted AND status IN ('waiting', 'running');
  IF open = 0 THEN RETURN 0; END IF;
  UPDATE lab.job SET cancelled_by = me WHERE id = wanted;
  WITH gone AS (
    UPDATE queue.procrastinate_jobs q SET status = 'cancelled' FROM lab.drive_job d
      WHERE d.job = wanted AND q.id = d.queue_job AND q.status = 'todo'
      RETURNING d.session)
  UPDATE lab.drive_job d SET status = 'stopped', message = 'cancelled by ' || me,
      ended_at = clock_timestamp()
    FROM gone WHERE gone.session = d.session AND d.status = 'waiting';
  RETURN open;
END $$;

-- Goes on with what did not end well; returns how many drive jobs that are.
CREATE OR REPLACE FUNCTION lab.resume(wanted text) RETURNS integer
  SECURITY DEFINER SET search_path = pg_catalog, pg_temp LANGUAGE plpgsql AS $$
DECLARE me text := lab.my_job(wanted); again text[]; why text;
BEGIN
  SELECT array_agg(session) INTO again FROM lab.drive_job
    WHERE job = wanted AND status IN ('refused', 'stopped', 'failed', 'died');
  SELECT lab.closed(j.person, d.host, name) INTO why
    FROM lab.drive_job d JOIN lab.job j ON j.id = d.job, unnest(d.drives) name
    WHERE d.session = ANY (again) AND lab.closed(j.person, d.host, name) IS NOT NULL
    LIMIT 1;
  IF why IS NOT NULL THEN PERFORM lab.refuse(why); END IF;
  UPDATE lab.job SET cancelled_by = '' WHERE id = wanted;
  UPDATE lab.drive_job SET status = 'waiting', round = round + 1, exit_code = NULL,
    ended_at = NULL, message = '' WHERE session = ANY (again);
  PERFORM lab.enqueue(session) FROM unnest(again) AS session ORDER BY session;
  RETURN COALESCE(cardinality(again), 0);
END $$;

-- Others' jobs that wait for the drive wait until then.
CREATE OR REPLACE FUNCTION lab.postpone(at_host text, wanted text) RETURNS void
  SECURITY DEFINER SET search_path = pg_catalog, pg_temp LANGUAGE sql AS $$
  UPDATE queue.procrastinate_jobs q
    SET scheduled_at = lab.reserved_until(j.person, d.host, d.drives),
      lock = lab.lock_of(j.person, d.host, d.drives)
    FROM lab.drive_job d JOIN lab.job j ON j.id = d.job
    WHERE q.id = d.queue_job AND q.status = 'todo' AND d.host = at_host
      AND wanted = ANY (d.drives) $$;

CREATE OR REPLACE FUNCTION lab.reserve(at_host text, wanted text, until timestamptz,
    why text) RETURNS void
  SECURITY DEFINER SET search_path = pg_catalog, pg_temp LANGUAGE plpgsql AS $$
DECLARE me text := lab.require('person'); closed text := lab.closed(me, at_host, wanted);
  holder text;
BEGIN
  IF closed IS NOT NULL THEN PERFORM lab.refuse(closed); END IF;
  IF until > clock_timestamp() + interval '1 year' OR until < clock_timestamp() THEN
    PERFORM lab.refuse('a reservation ends within a year');
  END IF;
  INSERT INTO lab.reservation AS r (host, drive, person, until, why)
    VALUES (at_host, wanted, me, reserve.until, left(reserve.why, 2000))
    ON CONFLICT (host, drive) DO UPDATE SET person = excluded.person,
      until = excluded.until, why = excluded.why
      WHERE r.person = me OR r.until < clock_timestamp()
    RETURNING person INTO holder;
  IF holder IS NULL THEN
    SELECT format('%s of %s is reserved by %s until %s', wanted, at_host, r.person,
      date_trunc('second', r.until)) INTO why
      FROM lab.reservation r WHERE r.host = at_host AND r.drive = wanted;
    PERFORM lab.refuse(why);
  END IF;
  PERFORM lab.postpone(at_host, wanted);
END $$;

CREATE OR REPLACE FUNCTION lab.release(at_host text, wanted text) RETURNS boolean
  SECURITY DEFINER SET search_path = pg_catalog, pg_temp LANGUAGE plpgsql AS $$
DECLARE me text := lab.require('person'); was boolean;
BEGIN
  DELETE FROM lab.reservation r WHERE r.host = at_host AND r.drive = wanted
    AND (r.person = me OR lab.is_admin());
  was := FOUND;
  IF was THEN PERFORM lab.postpone(at_host, wanted); END IF;
  RETURN was;
END $$;

-- A tag that permits is given and taken by an admin alone.
CREATE OR REPLACE FUNCTION lab.tag(at_host text, wanted text, given text[], taken text[])
  RETURNS text[]
  SECURITY DEFINER SET search_path = pg_catalog, pg_temp LANGUAGE plpgsql AS $$
DECLARE me text := lab.require('person'); now_has text[];
BEGIN
  IF NOT lab.is_admin() AND EXISTS (
      SELECT FROM lab.permission p WHERE p.tag = ANY (given || taken)) THEN
    PERFORM lab.refuse('only an admin gives and takes a tag that permits');
  END IF;
  IF EXISTS (SELECT FROM unnest(given) t WHERE t !~ '^[[:alnum:]_][[:alnum:]_.:@+/=-]{0,63}$') THEN
    PERFORM lab.refuse('a tag is one word of 64 characters at most');
  END IF;
  UPDATE lab.drive d SET tags = ARRAY(
      SELECT DISTINCT t FROM unnest(d.tags || given) t WHERE t <> ALL (taken) ORDER BY t)
    WHERE d.host = at_host AND d.name = wanted RETURNING d.tags INTO now_has;
  RETURN now_has;
END $$;

CREATE OR REPLACE FUNCTION lab.set_service(at_host text, wanted text, why text)
  RETURNS void
  SECURITY DEFINER SET search_path = pg_catalog, pg_temp LANGUAGE plpgsql AS $$
BEGIN
  PERFORM lab.require('person');
  IF NOT lab.is_admin() THEN PERFORM lab.refuse('only an admin takes drives out of service'); END IF;
  UPDATE lab.drive SET out_of_service = left(why, 2000)
    WHERE host = at_host AND name = wanted;
END $$;
