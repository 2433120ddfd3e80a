-- A role for a person, who works at a shell with the lab's database. After hosts.sql;
-- called as a superuser for each, by their login name:
--   psql -v ON_ERROR_STOP=1 -v person=ada -d ioplan -f people.sql
-- `lab_ada` reads all results, queues plans and reserves drives in the name of ada alone,
-- on the drives that `ioplan lab people permit` leaves to her, and cancels what is hers
-- or that of people of her projects (`ioplan lab people project`).

SELECT format('CREATE ROLE %I LOGIN', 'lab_' || :'person')
  WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'lab_' || :'person') \gexec
SELECT format('GRANT lab_operator TO %I', 'lab_' || :'person') \gexec
