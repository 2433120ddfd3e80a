-- Who may do what in the shared results. Called as a superuser, once or again:
--   psql -v ON_ERROR_STOP=1 -d ioplan -f roles.sql
-- `lab` is every host and the desk: it adds results, and makes the tables.
-- `lab_read` only reads: Grafana, notebooks, and `ioplan ls --store …` of guests.

SELECT 'CREATE ROLE lab LOGIN'
  WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'lab') \gexec
SELECT 'CREATE ROLE lab_read LOGIN'
  WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'lab_read') \gexec

REVOKE CREATE ON SCHEMA public FROM PUBLIC;
GRANT CREATE, USAGE ON SCHEMA public TO lab;
GRANT USAGE ON SCHEMA public TO lab_read;
GRANT SELECT ON ALL TABLES IN SCHEMA public TO lab_read;
ALTER DEFAULT PRIVILEGES FOR ROLE lab IN SCHEMA public GRANT SELECT ON TABLES TO lab_read;
