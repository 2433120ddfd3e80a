-- Jobs at given times. When one is due is decided here, by the fields of its cron text, so
-- that whichever worker asks can start nothing before its time, and in nobody else's name.

CREATE TABLE IF NOT EXISTS lab.schedule (
  name text PRIMARY KEY CHECK (name ~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$'),
  person text NOT NULL,
  cron text NOT NULL CHECK (length(cron) <= 200),
  zone text NOT NULL,
  minutes integer[] NOT NULL,
  hours integer[] NOT NULL,
  days integer[] NOT NULL,
  months integer[] NOT NULL,
  weekdays integer[] NOT NULL,
  any_day boolean NOT NULL,  -- days and weekdays are both said: either will do
  once_if_missed boolean NOT NULL,
  job jsonb NOT NULL,
  checked_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  last_job text NOT NULL DEFAULT '',
  message text NOT NULL DEFAULT ''
);

CREATE OR REPLACE FUNCTION lab.add_schedule(s jsonb) RETURNS void
  SECURITY DEFINER SET search_path = pg_catalog, pg_temp LANGUAGE plpgsql AS $$
DECLARE me text := lab.require('person'); why text;
BEGIN
  PERFORM clock_timestamp() AT TIME ZONE (s->>'zone');
  SELECT lab.closed(me, u->>'host', d) INTO why
    FROM jsonb_array_elements(s->'job'->'units') u, jsonb_array_elements_text(u->'drives') d
    WHERE lab.closed(me, u->>'host', d) IS NOT NULL LIMIT 1;
  IF why IS NOT NULL THEN PERFORM lab.refuse(why); END IF;
  INSERT INTO lab.schedule (name, person, cron, zone, minutes, hours, days, months,
      weekdays, any_day, once_if_missed, job)
    SELECT r.name, me, r.cron, r.zone, r.minutes, r.hours, r.days, r.months, r.weekdays,
      r.any_day, r.once_if_missed, r.job
    FROM jsonb_to_record(s) AS r (name text, cron text, zone text, minutes integer[],
      hours integer[], days integer[], months integer[], weekdays integer[],
      any_day boolean, once_if_missed boolean, job jsonb);
END $$;

CREATE OR REPLACE FUNCTION lab.remove_schedule(wanted text) RETURNS boolean
  SECURITY DEFINER SET search_path = pg_catalog, pg_temp LANGUAGE plpgsql AS $$
DECLARE me text := lab.require('person');
BEGIN
  DELETE FROM lab.schedule WHERE name = wanted AND (person = me OR lab.is_admin());
  RETURN FOUND;
END $$;

-- The minutes at which a schedule is due after one moment, up to another. Where a clock is
-- put back, a time of the day counts the first time; one that is left out, at the change.
CREATE OR REPLACE FUNCTION lab.due(s lab.schedule, since timestamptz, until timestamptz)
  RETURNS SETOF timestamptz
  STABLE SET search_path = pg_catalog, pg_temp LANGUAGE sql AS $$
  SELECT at FROM generate_series(date_trunc('minute', since) + interval '1 minute', until,
      interval '1 minute') AS at,
    LATERAL generate_series(
      (at - interval '1 minute') AT TIME ZONE s.zone + interval '1 minute',
      at AT TIME ZONE s.zone, interval '1 minute') AS local
  WHERE (at - interval '1 hour') AT TIME ZONE s.zone <> at AT TIME ZONE s.zone
    AND extract(minute FROM local) = ANY (s.minutes)
    AND extract(hour FROM local) = ANY (s.hours)
    AND extract(month FROM local) = ANY (s.months)
    AND CASE WHEN s.any_day
      THEN extract(day FROM local) = ANY (s.days)
        OR extract(dow FROM local) = ANY (s.weekdays)
      ELSE extract(day FROM local) = ANY (s.days)
        AND extract(dow FROM local) = ANY (s.weekdays) END
  ORDER BY 1 $$;

-- Submits what is due, each in the name of its person; any worker asks for it. Two that
-- ask at once do not start a job twice.
CREATE OR REPLACE FUNCTION lab.fire_due() RETURNS integer
  SECURITY DEFINER SET search_path = pg_catalog, pg_temp LANGUAGE plpgsql AS $$
DECLARE s lab.schedule; at timestamptz; now_is timestamptz := clock_timestamp();
  id text; fired integer := 0;
BEGIN
  PERFORM lab.require('host');
  FOR s IN SELECT * FROM lab.schedule WHERE checked_at < date_trunc('minute', now_is)
      FOR UPDATE SKIP LOCKED LOOP
    SELECT max(d) INTO at
      FROM lab.due(s, greatest(s.checked_at, now_is - interval '7 days'), now_is) d;
    UPDATE lab.schedule SET checked_at = now_is WHERE name = s.name;
    CONTINUE WHEN at IS NULL;
    id := to_char(now_is AT TIME ZONE 'UTC', 'YYYYMMDD-HH24MISS-')
      || substr(md5(s.name || random()::text), 1, 6);
    IF at < now_is - interval '5 minutes' AND NOT s.once_if_missed THEN
      UPDATE lab.schedule SET message = 'missed at ' || at WHERE name = s.name;
    ELSIF EXISTS (SELECT FROM lab.drive_job d WHERE d.job = s.last_job
        AND d.status IN ('waiting', 'running')) THEN
      UPDATE lab.schedule SET message = 'not started at ' || at || ': ' || s.last_job
        || ' has not ended' WHERE name = s.name;
    ELSE
      BEGIN
        PERFORM lab.submit_as(s.person, s.job || jsonb_build_object('id', id));
        UPDATE lab.schedule SET last_job = id, message = '' WHERE name = s.name;
        fired := fired + 1;
      EXCEPTION WHEN OTHERS THEN
        UPDATE lab.schedule SET message = left('not started at ' || at || ': ' || SQLERRM, 1000)
          WHERE name = s.name;
      END;
    END IF;
  END LOOP;
  RETURN fired;
END $$;
