-- Removes sessions that ended more than :days days ago, but for those with the tag
-- `keep`, and what nothing refers to any more:
--   psql -v ON_ERROR_STOP=1 -v days=730 -d ioplan -f retention.sql
-- `ioplan push` of a host would send again what the host still has. Of a lab, as its owner, also
-- the jobs of that age go.

BEGIN;
CREATE TEMPORARY TABLE old ON COMMIT DROP AS
  SELECT id FROM session
  WHERE ended_at::timestamptz < now() - make_interval(days => :days)
    AND NOT tags::jsonb ? 'keep';
DELETE FROM run_intervals WHERE session IN (SELECT id FROM old);
DELETE FROM run_telemetry WHERE session IN (SELECT id FROM old);
DELETE FROM run_blob WHERE session IN (SELECT id FROM old);
DELETE FROM figure WHERE session IN (SELECT id FROM old);
DELETE FROM verdict WHERE session IN (SELECT id FROM old);
DELETE FROM run WHERE session IN (SELECT id FROM old);
DELETE FROM event WHERE session IN (SELECT id FROM old);
DELETE FROM session WHERE id IN (SELECT id FROM old);
DELETE FROM drive WHERE digest NOT IN
  (SELECT drive FROM session WHERE drive IS NOT NULL);
DELETE FROM env WHERE digest NOT IN
  (SELECT env FROM session UNION SELECT env FROM run);
COMMIT;
SELECT to_regclass('lab.job') IS NOT NULL AS is_lab \gset
\if :is_lab
BEGIN;
CREATE TEMPORARY TABLE old_job ON COMMIT DROP AS
  SELECT job AS id, array_agg(queue_job) AS queued FROM lab.drive_job GROUP BY job
  HAVING max(COALESCE(ended_at, 'infinity')) < now() - make_interval(days => :days);
DELETE FROM queue.procrastinate_jobs WHERE id IN (SELECT unnest(queued) FROM old_job);
DELETE FROM lab.drive_job WHERE job IN (SELECT id FROM old_job);
DELETE FROM lab.job WHERE id IN (SELECT id FROM old_job);
COMMIT;
\endif
