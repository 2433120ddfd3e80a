-- What people and the page read.

-- Drive jobs with what is stored of them now; a host that is silent makes them unknown.
CREATE OR REPLACE VIEW lab.v_drive_job AS
  SELECT d.session, d.job, j.title, j.person, d.host, array_to_string(d.drives, ', ') AS drives,
    CASE WHEN d.status NOT IN ('waiting', 'running') OR silent_s < 30 THEN d.status
      WHEN d.started_at IS NULL THEN 'waiting' ELSE 'unknown' END AS status,
    d.status AS last_status, d.exit_code, d.step, d.done, d.runs, d.unmet, d.iops, d.p99_ns,
    d.temperature_celsius, d.left_s, d.message, d.attempts, j.submitted_at, d.started_at,
    d.ended_at, j.priority, j.cancelled_by, silent_s,
    CASE WHEN d.status IN ('waiting', 'running') THEN greatest(d.expected, d.runs, stored)
      ELSE greatest(d.runs, stored) END AS total, stored
  FROM lab.drive_job d JOIN lab.job j ON j.id = d.job JOIN lab.host h ON h.name = d.host,
    LATERAL (SELECT
      COALESCE(extract(epoch FROM clock_timestamp() - h.seen_at)::float8, 1e9) AS silent_s,
      (SELECT count(*) FROM public.run WHERE run.session = d.session)::integer AS stored)
      AS now_known;

CREATE OR REPLACE VIEW lab.v_drive AS
  SELECT d.*, r.person AS reserved_by, r.until AS reserved_until, r.why AS reserved_why,
    busy.session AS busy_session, busy.person AS busy_person, busy.waiting,
    CASE WHEN d.gone_since IS NOT NULL THEN 'gone'
      WHEN busy.session IS NOT NULL THEN 'busy'
      WHEN d.out_of_service <> '' THEN 'out of service'
      WHEN r.person IS NOT NULL THEN 'reserved' ELSE 'free' END AS state
  FROM lab.drive d
  LEFT JOIN lab.reservation r ON r.host = d.host AND r.drive = d.name
    AND r.until > clock_timestamp()
  LEFT JOIN LATERAL (
    SELECT min(o.session) FILTER (WHERE o.status = 'running') AS session,
      min(j.person) FILTER (WHERE o.status = 'running') AS person,
      count(*) FILTER (WHERE o.status = 'waiting') AS waiting
    FROM lab.drive_job o JOIN lab.job j ON j.id = o.job
    WHERE o.host = d.host AND d.name = ANY (o.drives) AND o.status IN ('waiting', 'running')
  ) AS busy ON true;

CREATE OR REPLACE VIEW lab.v_host AS
  SELECT h.name, h.version, h.seen_at,
    extract(epoch FROM clock_timestamp() - h.seen_at)::float8 AS silent_s,
    (SELECT count(*) FROM lab.drive d WHERE d.host = h.name) AS drives,
    (SELECT count(*) FROM lab.drive_job o WHERE o.host = h.name AND o.status = 'running')
      AS running,
    (SELECT count(*) FROM lab.drive_job o WHERE o.host = h.name AND o.status = 'waiting')
      AS waiting
  FROM lab.host h;

CREATE OR REPLACE VIEW lab.v_queue AS
  SELECT d.session, d.job, j.title, j.person, d.host, array_to_string(d.drives, ', ') AS drives,
    j.priority, j.submitted_at, q.scheduled_at AS not_before,
    row_number() OVER (PARTITION BY d.host ORDER BY j.priority DESC, q.id) AS place
  FROM lab.drive_job d JOIN lab.job j ON j.id = d.job
    JOIN queue.procrastinate_jobs q ON q.id = d.queue_job AND q.status = 'todo'
  WHERE d.status = 'waiting';
GRANT SELECT ON lab.v_drive_job, lab.v_drive, lab.v_host, lab.v_queue
  TO lab_read, lab_people;
