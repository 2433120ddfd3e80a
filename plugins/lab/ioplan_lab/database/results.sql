-- Results of hosts. The outbox writes the store's tables as ever; these triggers say in
-- whose name, compute digests, and refuse what a reader could not read. They do nothing
-- for the owner, who restores backups.

-- JSON of Python's json.dumps, which digests of drives are made of: ASCII only.
CREATE OR REPLACE FUNCTION lab.ascii_json(word text) RETURNS text
  IMMUTABLE SET search_path = pg_catalog, pg_temp LANGUAGE plpgsql AS $$
DECLARE made text := ''; c text; code integer;
BEGIN
  IF word ~ '^[ -~]*$' THEN RETURN to_json(word)::text; END IF;
  FOREACH c IN ARRAY regexp_split_to_array(word, '') LOOP
    code := ascii(c);
    IF code > 65535 THEN
      code := code - 65536;
      made := made || format('\u%s\u%s', to_hex(55296 + (code >> 10)),
        to_hex(56320 + (code & 1023)));
    ELSIF code > 126 THEN
      made := made || '\u' || lpad(to_hex(code), 4, '0');
    ELSE
      made := made || btrim(to_json(c)::text, '"');
      IF c = '"' THEN made := made || '"'; END IF;
    END IF;
  END LOOP;
  RETURN '"' || made || '"';
END $$;

CREATE OR REPLACE FUNCTION lab.check_json(word text, kind text, most integer) RETURNS void
  IMMUTABLE SET search_path = pg_catalog, pg_temp LANGUAGE plpgsql AS $$
BEGIN
  IF word IS NULL THEN RETURN; END IF;
  IF octet_length(word) > most THEN
    RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'too long';
  ELSIF jsonb_typeof(word::jsonb) <> kind THEN
    RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'no JSON ' || kind;
  END IF;
END $$;

-- PostgreSQL would also take `yesterday`.
CREATE OR REPLACE FUNCTION lab.check_time(word text) RETURNS void
  STABLE SET search_path = pg_catalog, pg_temp LANGUAGE plpgsql AS $$
BEGIN
  IF word !~ '^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d' THEN
    RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'no time';
  END IF;
  PERFORM word::timestamptz;
END $$;

CREATE OR REPLACE FUNCTION lab.env_of_host() RETURNS trigger
  SECURITY DEFINER SET search_path = pg_catalog, pg_temp LANGUAGE plpgsql AS $$
BEGIN
  IF lab.my_host() IS NULL THEN RETURN NEW; END IF;
  PERFORM lab.check_json(NEW.facts, 'object', 1 << 20);
  NEW.digest := encode(sha256(convert_to(NEW.facts, 'UTF8')), 'hex');
  RETURN NEW;
END $$;

CREATE OR REPLACE FUNCTION lab.drive_of_host() RETURNS trigger
  SECURITY DEFINER SET search_path = pg_catalog, pg_temp LANGUAGE plpgsql AS $$
BEGIN
  IF lab.my_host() IS NULL THEN RETURN NEW; END IF;
  IF greatest(length(NEW.serial), length(NEW.model), length(NEW.firmware),
      length(NEW.lab_name), length(NEW.wwid)) > 256 THEN
    RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'too long';
  END IF;
  NEW.digest := encode(sha256(convert_to(format(
    '{"capacity_bytes":%s,"firmware":%s,"lab_name":%s,"model":%s,"serial":%s,"wwid":%s}',
    NEW.capacity_bytes, lab.ascii_json(NEW.firmware), lab.ascii_json(NEW.lab_name),
    lab.ascii_json(NEW.model), lab.ascii_json(NEW.serial), lab.ascii_json(NEW.wwid)),
    'UTF8')), 'hex');
  RETURN NEW;
END $$;

-- A session is of the host that adds it, and of the person whose drive job it is; of a
-- plain run the host vouches for the person, which the name says: `ada@h1`.
CREATE OR REPLACE FUNCTION lab.session_of_host() RETURNS trigger
  SECURITY DEFINER SET search_path = pg_catalog, pg_temp LANGUAGE plpgsql AS $$
DECLARE me text := lab.my_host(); known record;
BEGIN
  IF me IS NULL THEN RETURN NEW; END IF;
  SELECT d.host, d.job, j.person INTO known
    FROM lab.drive_job d JOIN lab.job j ON j.id = d.job WHERE d.session = NEW.id;
  IF known.host <> me THEN
    PERFORM lab.refuse(NEW.id || ' is a session of another host');
  END IF;
  NEW.added_by := session_user;
  NEW.host_name := me;
  NEW.job := known.job;
  NEW.person := CASE WHEN strpos(known.person, '@') = 0 THEN known.person
    ELSE split_part(COALESCE(known.person, NEW.person), '@', 1) || '@' || me END;
  PERFORM lab.check_json(NEW.tags, 'array', 1 << 16);
  PERFORM lab.check_json(NEW.request, 'object', 1 << 20);
  PERFORM lab.check_json(NEW.resolved, 'object', 1 << 24);
  PERFORM lab.check_time(NEW.started_at), lab.check_time(NEW.ended_at);
  IF NEW.status NOT IN ('running', 'ok', 'failed', 'interrupted')
      OR octet_length(NEW.plan_text) > 1 << 24
      OR greatest(length(NEW.plan), length(NEW.plan_file), length(NEW.target),
        length(NEW.note)) > 10000
      OR NEW.expected < 0 OR NEW.unmet < 0
      OR EXISTS (SELECT FROM jsonb_array_elements(NEW.tags::jsonb) t
        WHERE jsonb_typeof(t) <> 'string') THEN
    RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'no session';
  END IF;
  RETURN NEW;
END $$;

CREATE OR REPLACE FUNCTION lab.row_of_host() RETURNS trigger
  SECURITY DEFINER SET search_path = pg_catalog, pg_temp LANGUAGE plpgsql AS $$
BEGIN
  IF lab.my_host() IS NULL THEN RETURN NEW; END IF;
  IF TG_TABLE_NAME = 'run' THEN
    PERFORM lab.check_json(part, 'object', 1 << 24)
      FROM unnest(ARRAY[NEW.cell, NEW.asked, NEW.backend, NEW.target, NEW.extras]) AS part;
    PERFORM lab.check_json(part, 'object', 1 << 24)
      FROM unnest(ARRAY[NEW.steady, NEW.decided, NEW.found]) AS part
      WHERE part IS NOT NULL;
    IF NEW.seq < 1 OR NOT NEW.run_s BETWEEN 0 AND 1e18 OR length(NEW.message) > 100000
        OR NEW.extras::jsonb->'schema_version' IS NULL THEN
      RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'no record of a run';
    END IF;
  ELSIF TG_TABLE_NAME = 'figure' THEN
    IF least(NEW.ios, NEW.bytes, NEW.errors) < 0 OR NOT NEW.iops BETWEEN 0 AND 1e18
        OR NOT NEW.bandwidth_bytes_per_s BETWEEN 0 AND 1e21 THEN
      RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'no figure of a run';
    END IF;
  ELSIF TG_TABLE_NAME = 'verdict' THEN
    PERFORM lab.check_json(NEW.verdict, 'object', 1 << 20);
  ELSIF TG_TABLE_NAME = 'event' THEN
    PERFORM lab.check_time(NEW.at);
  END IF;
  RETURN NEW;
END $$;

ALTER TABLE public.session ADD COLUMN IF NOT EXISTS added_by name
  NOT NULL DEFAULT session_user;
ALTER TABLE public.session ALTER COLUMN added_by SET DEFAULT session_user;
CREATE OR REPLACE TRIGGER of_host BEFORE INSERT ON public.env
  FOR EACH ROW EXECUTE FUNCTION lab.env_of_host();
CREATE OR REPLACE TRIGGER of_host BEFORE INSERT ON public.drive
  FOR EACH ROW EXECUTE FUNCTION lab.drive_of_host();
CREATE OR REPLACE TRIGGER of_host BEFORE INSERT OR UPDATE ON public.session
  FOR EACH ROW EXECUTE FUNCTION lab.session_of_host();
CREATE OR REPLACE TRIGGER of_host BEFORE INSERT OR UPDATE ON public.run
  FOR EACH ROW EXECUTE FUNCTION lab.row_of_host();
CREATE OR REPLACE TRIGGER of_host BEFORE INSERT ON public.figure
  FOR EACH ROW EXECUTE FUNCTION lab.row_of_host();
CREATE OR REPLACE TRIGGER of_host BEFORE INSERT OR UPDATE ON public.verdict
  FOR EACH ROW EXECUTE FUNCTION lab.row_of_host();
CREATE OR REPLACE TRIGGER of_host BEFORE INSERT ON public.event
  FOR EACH ROW EXECUTE FUNCTION lab.row_of_host();
