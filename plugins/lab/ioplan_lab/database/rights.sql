-- Who may do what. Hosts are in the role lab_hosts, people in lab_people; neither has more
-- rights than its members, and all that is allowed is asked of `session_user`.

ALTER DEFAULT PRIVILEGES IN SCHEMA lab, queue REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
GRANT USAGE ON SCHEMA lab TO lab_hosts, lab_people, lab_read;
GRANT USAGE ON SCHEMA public TO lab_hosts, lab_people, lab_read;
GRANT USAGE ON SCHEMA queue TO lab_hosts, lab_people, lab_read;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA lab FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA queue FROM PUBLIC;
GRANT EXECUTE ON FUNCTION lab.my_host(), lab.my_name(text), lab.is_admin(), lab.require(text)
  TO lab_hosts, lab_people, lab_read;
GRANT EXECUTE ON FUNCTION lab.drive_job_call(text), lab.report(text, jsonb),
  lab.report_drives(jsonb), lab.leave(), lab.fire_due(), lab.offer(jsonb),
  lab.unknown(text[], text[]), lab.purge()
  TO lab_hosts;
GRANT EXECUTE ON FUNCTION lab.submit(jsonb), lab.closed(text, text, text),
  lab.cancel(text), lab.resume(text),
  lab.reserve(text, text, timestamptz, text), lab.release(text, text),
  lab.tag(text, text, text[], text[]), lab.set_service(text, text, text),
  lab.add_schedule(jsonb), lab.remove_schedule(text) TO lab_people;

-- People, and programs that only read, see all but what the queue itself keeps.
GRANT SELECT ON ALL TABLES IN SCHEMA public TO lab_read, lab_people;
GRANT SELECT ON ALL TABLES IN SCHEMA lab TO lab_read, lab_people;

-- Results: a host adds, and sees its own. A session that goes on with an edited plan gives
-- its runs other places in it, and takes back the verdicts of the plan.
GRANT SELECT ON public.meta, public.env, public.drive, public.session, public.run,
  public.figure, public.run_blob, public.run_telemetry, public.run_intervals,
  public.verdict, public.event TO lab_hosts;
GRANT INSERT ON public.env, public.drive, public.session, public.run, public.figure,
  public.run_blob, public.run_telemetry, public.run_intervals, public.verdict,
  public.event TO lab_hosts;
GRANT UPDATE (verdict), DELETE ON public.verdict TO lab_hosts;
GRANT UPDATE (test, kind, step, name, round, iteration, cell, after_name, after_digest,
  removed, asked) ON public.run TO lab_hosts;
DO $$ BEGIN
  EXECUTE (SELECT format('GRANT UPDATE (%s) ON public.session TO lab_hosts',
      string_agg(quote_ident(attname), ', '))
    FROM pg_attribute WHERE attrelid = 'public.session'::regclass AND attnum > 0
      AND NOT attisdropped
      AND attname NOT IN ('id', 'started_at', 'backend', 'target', 'env', 'added_by'));
END $$;

CREATE OR REPLACE FUNCTION lab.set_policy(place regclass, own text) RETURNS void
  LANGUAGE plpgsql AS $$ BEGIN
  EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', place);
  EXECUTE format('DROP POLICY IF EXISTS own ON %s', place);
  EXECUTE format('CREATE POLICY own ON %s TO lab_hosts USING (%s) WITH CHECK (%s)',
    place, own, own);
  EXECUTE format('DROP POLICY IF EXISTS all_read ON %s', place);
  EXECUTE format('CREATE POLICY all_read ON %s FOR SELECT TO lab_read, lab_people
    USING (true)', place);
END $$;
SELECT lab.set_policy('public.session', 'added_by = session_user');
SELECT lab.set_policy(format('public.%I', name)::regclass,
    'session IN (SELECT id FROM public.session)')
  FROM unnest(ARRAY['run', 'figure', 'run_blob', 'run_telemetry', 'run_intervals', 'verdict',
    'event']) AS name;

-- Facts of hosts and drives: their key is computed, so adding one that is there is no
-- harm; read are those of own sessions.
SELECT lab.set_policy('public.env', 'digest IN (SELECT env FROM public.session)
    OR digest IN (SELECT env FROM public.run)');
SELECT lab.set_policy('public.drive', 'digest IN (SELECT drive FROM public.session)');
DROP POLICY IF EXISTS added ON public.env;
CREATE POLICY added ON public.env FOR INSERT TO lab_hosts WITH CHECK (true);
DROP POLICY IF EXISTS added ON public.drive;
CREATE POLICY added ON public.drive FOR INSERT TO lab_hosts WITH CHECK (true);

-- Procrastinate: a host takes jobs of the queue of its name, and adds none.
GRANT EXECUTE ON FUNCTION queue.procrastinate_fetch_job_v2(varchar[], bigint),
  queue.procrastinate_finish_job_v1(bigint, queue.procrastinate_job_status, boolean),
  queue.procrastinate_retry_job_v2(bigint, timestamptz, integer, varchar, varchar),
  queue.procrastinate_register_worker_v1(),
  queue.procrastinate_unregister_worker_v1(bigint),
  queue.procrastinate_update_heartbeat_v1(bigint),
  queue.procrastinate_prune_stalled_workers_v1(double precision) TO lab_hosts;
GRANT SELECT, UPDATE (status, worker_id, attempts, abort_requested, scheduled_at,
  priority, queue_name, lock) ON queue.procrastinate_jobs TO lab_hosts;
GRANT SELECT ON queue.procrastinate_workers TO lab_hosts;
GRANT SELECT ON queue.procrastinate_jobs, queue.procrastinate_workers TO lab_read, lab_people;

SELECT lab.set_policy('queue.procrastinate_jobs', 'queue_name = (SELECT lab.my_host())');

-- Workers are written by functions of the owner, who is shown the rows of the host that
-- asks: who may delete from a table may also lock all of it.
SELECT lab.set_policy('queue.procrastinate_workers', 'host = (SELECT lab.my_host())');
ALTER TABLE queue.procrastinate_workers FORCE ROW LEVEL SECURITY;
DROP POLICY IF EXISTS by_functions ON queue.procrastinate_workers;
CREATE POLICY by_functions ON queue.procrastinate_workers TO ioplan_owner
  USING (host = (SELECT lab.my_host())) WITH CHECK (host = (SELECT lab.my_host()));

-- the index of running locks is of all queues: a host must not hold another's
ALTER TABLE queue.procrastinate_jobs DROP CONSTRAINT IF EXISTS lock_of_queue;
ALTER TABLE queue.procrastinate_jobs ADD CONSTRAINT lock_of_queue
  CHECK (lock IS NULL OR starts_with(lock, queue_name || '/'));
DO $$ DECLARE made record; BEGIN
  FOR made IN SELECT p.oid::regprocedure AS name FROM pg_proc p
      WHERE p.pronamespace = 'queue'::regnamespace
        AND (p.prorettype = 'trigger'::regtype OR p.proname LIKE '%worker%'
          OR p.proname LIKE '%heartbeat%') LOOP
    EXECUTE format('ALTER FUNCTION %s SECURITY DEFINER SET search_path = queue, pg_temp',
      made.name);
  END LOOP;
END $$;
-- defined by the owner, for its own functions
ALTER FUNCTION queue.procrastinate_defer_jobs_v1(queue.procrastinate_job_to_defer_v1[])
  SET search_path = queue, pg_temp;
