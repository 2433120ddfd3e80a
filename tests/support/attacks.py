"""What was tried against data, rights and results; each is tried again by a test."""

from __future__ import annotations

from typing import NamedTuple


class Attack(NamedTuple):
    """`outcome` is what happens; `test` is a file below tests and a function in it."""

    what: str
    outcome: str
    test: str


GUARD, CLI = "guard/test_", "cli/test_written_files.py::test_"
KEYS = "cluster/test_keys"
DESK = "desk/test_"
ATTACKS = (
    # data of others
    Attack(
        "`report -o` names a mounted disk, `export -o` the store or a file beside it",
        "refused, with `--force` too",
        CLI + "a_mounted_disk_survives",
    ),
    Attack(
        "`--store` or `IOPLAN_STORE` names a disk, or a link to one",
        "refused; SQLite would take it for an empty file",
        "store/test_store.py::test_a_disk_is_no_store",
    ),
    Attack(
        "`-o` names a document, a scratch file, a link, a pipe",
        "a document needs `--force`; the others are refused",
        GUARD + "output.py::test_a_file_of_somebody_else_needs_force",
    ),
    Attack(
        "`fmt` on a full disk",
        "an error; the plan is whole",
        CLI + "fmt_on_a_full_disk_leaves_the_whole_plan",
    ),
    Attack(
        "the first 64 KiB of an ext4 answer with EIO; archives, databases, virtual disks, "
        "damaged ext4, a loop device inside an image",
        "refused, with `--overwrite` too; each kind is a row in [lab-file.md](lab-file.md)",
        GUARD + "guard.py::test_it_is_refused",
    ),
    Attack(
        "a database is put on a target after a session on it was killed; then `resume`",
        "refused until `--overwrite-data` names it",
        GUARD + "data_consent.py::test_resume_asks_for_what_came_after_a_kill",
    ),
    Attack(
        "other data where data was given up",
        "refused until it is given up as well",
        GUARD + "data_consent.py::test_it_is_kept_for_the_data_that_was_there",
    ),
    Attack(
        "the wrong disk is overwritten with all words given",
        "`undo` puts back its partition tables and both ends",
        GUARD + "undo.py::test_a_partition_table_comes_back",
    ),
    Attack(
        "a name in another user's folder is exchanged while it is opened",
        "only the file that was checked is opened",
        GUARD + "other_users.py::test_a_name_that_changes_all_the_time",
    ),
    Attack(
        "another user's symbolic link leads to a file of root's",
        "refused",
        GUARD + "other_users.py::test_a_link_of_another_user_is_not_followed",
    ),
    Attack(
        "a folder of another user becomes a link after it was looked at",
        "what was looked at is opened",
        GUARD
        + "other_users.py::test_a_folder_that_becomes_a_link_once_it_was_looked_at",
    ),
    Attack(
        "an encrypted container is put into a scratch file, also with the times it had, "
        "after a session on it ended or was killed, with or without a trace",
        "refused until `--overwrite-data` names it",
        GUARD
        + "scratch_content.py::test_what_its_owner_keeps_in_it_is_not_overwritten",
    ),
    Attack(
        "another program opens a scratch file for writing while a run is on it",
        "it is not ioplan's any more",
        GUARD + "scratch_content.py::test_who_writes_during_a_run_owns_what_is_there",
    ),
    Attack(
        "a file gets the mark of a scratch file",
        "not believed",
        GUARD + "other_users.py::test_a_mark_alone_is_not_believed",
    ),
    Attack(
        "a file is used by its path in an overlay, and written by the other one",
        "refused",
        GUARD + "other_users.py::test_a_file_of_an_overlay_has_two_paths",
    ),
    Attack(
        "the upper file of an overlay of another mount namespace, in which a program "
        "writes to it",
        "refused",
        GUARD + "sight.py::test_the_upper_file_of_an_overlay_elsewhere",
    ),
    Attack(
        "from a container, a file or device that a program of the host holds",
        "refused without `--cannot-see-users`",
        GUARD + "sight.py::test_elsewhere_a_file_of_others_is_kept",
    ),
    Attack(
        "a file is held by an io_uring alone, or by a message in a socket",
        "refused",
        GUARD + "sight.py::test_a_descriptor_that_waits_in_a_socket",
    ),
    Attack(
        "losetup, mkfs, mount, swapon, addpart and other programs on the target of a "
        "session that runs",
        "the session ends, and says what it is; its finished runs are kept",
        "runner/test_taken.py::test_a_device_is_taken",
    ),
    Attack(
        "a plan's title as a script, written with `-o x.html` in another format",
        "refused",
        "cli/test_formats.py::test_no_title_becomes_a_script",
    ),
    # who may command
    Attack(
        "a store in a folder of many, in which another user has made `jobs` or `lanes`",
        "refused: a job says what is run and overwritten",
        "cluster/test_lanes.py::test_a_job_that_another_user_may_change_is_not_believed",
    ),
    Attack(
        "a scheduler at `tcp://127.0.0.1`",
        "refused: TLS on loopback, too",
        "cluster/test_lab_check.py::test_plain_tcp_is_refused",
    ),
    Attack(
        "a lab file that others may write, in a folder of theirs, behind their link",
        "refused; none of its commands runs",
        "cluster/test_lab_owners.py::test_no_program_of_it_is_run",
    ),
    Attack(
        "the key of a host, to connect to another host",
        "refused by TLS",
        KEYS + ".py::test_a_host_is_let_in_by_no_other_host",
    ),
    Attack(
        "the key of a host, at the address of the scheduler or of another host",
        "refused by TLS: hosts believe those who command only, and names are checked",
        KEYS + ".py::test_a_host_is_not_taken_for_the_scheduler_or_for_another_address",
    ),
    Attack(
        "the key of a host, to submit, cancel or ask as a client",
        "the scheduler ends the connection",
        KEYS + "_lab.py::test_the_key_of_a_host_is_no_clients",
    ),
    Attack(
        "the key of a host, to register as another host",
        "the scheduler ends the connection, and says who it was",
        KEYS + "_lab.py::test_a_host_registers_under_its_own_name",
    ),
    Attack(
        "the key of a host that was revoked",
        "refused by the scheduler and by the desk",
        KEYS + "_lab.py::test_who_is_revoked_is_refused_from_then_on",
    ),
    Attack(
        "the certificate for web pages, as a peer of the lab",
        "refused by TLS",
        KEYS + ".py::test_what_the_web_gets_is_for_browsers_only",
    ),
    Attack(
        "`lab up` on a host that another desk uses",
        "its keys stay; `lab keys take-over` takes it",
        KEYS + "_lab.py::test_another_desk_does_not_get_the_host",
    ),
    Attack(
        "a worker that is refused for weeks",
        "its log keeps 2 MiB at most",
        KEYS + "_lab.py::test_a_log_does_not_fill_a_disk",
    ),
    # the desk
    Attack(
        "a signed list of consents gets a drive more, another end, plan, lab or admin",
        "refused as a whole",
        GUARD + "consent_list.py::test_a_signed_list_that_was_altered_is_refused",
    ),
    Attack(
        "a list of consents names a path, a kernel's name, or the ID of another drive",
        "refused as a whole; an ID alone gives no consent",
        GUARD + "consent_list.py::test_a_list_that_names_no_identity_is_refused",
    ),
    Attack(
        "a list of consents that is not signed, or not by an admin, sent to the desk",
        "refused, also from who has an admin's token",
        DESK + "desk_pages.py::test_only_a_list_that_an_admin_signed_is_taken",
    ),
    Attack(
        "an ID token with another issuer, audience or nonce, expired, or without one of "
        "its claims",
        "nobody is signed in",
        DESK + "desk_oidc.py::test_claims_that_prove_nothing",
    ),
    Attack(
        "an ID token with `alg: none`, by another key, or signed with the public key as "
        "a secret",
        "nobody is signed in",
        DESK + "desk_oidc.py::test_signatures_and_texts_that_prove_nothing",
    ),
    Attack(
        "the link to somebody else's OIDC sign-in, and one that is used twice",
        "nobody is signed in",
        DESK
        + "desk_oidc.py::test_a_sign_in_is_of_its_browser_and_its_code_and_ends_once",
    ),
    Attack(
        "an OIDC person with the name of an admin",
        "refused",
        DESK + "desk_oidc.py::test_a_name_is_one_persons",
    ),
    Attack(
        "two desks on one database, both killed between taking a plan and starting it",
        "each plan is started once",
        DESK + "queue_store.py::test_two_desks_that_are_killed_start_each_once",
    ),
    Attack(
        "a web hook to loopback, link-local or metadata addresses, however spelt",
        "refused, unless an admin adds it with `--inside`",
        DESK + "hooks.py::test_where_a_hook_may_go",
    ),
    Attack(
        "the name of a web hook leads inside after the hook was added",
        "not called: the address that is checked is the one that is called",
        DESK + "hooks.py::test_an_address_that_became_forbidden_is_not_called",
    ),
    # nothing lost, nothing false
    Attack(
        "blocks written with `verify` are zeroed, trimmed, replaced, damaged, lost, "
        "misdirected, torn or stale",
        "the run fails and says how many, and where; rows in [faults.md](faults.md)",
        "runner/test_damage.py::test_damage_is_found",
    ),
    Attack(
        "a reader that verifies nothing",
        "the run fails: verified 0 of N",
        "runner/test_damage.py::test_a_reader_that_verifies_nothing_fails",
    ),
    Attack(
        "the store is removed, replaced or emptied while a session writes to it",
        "exit code 3; its content is in a new file, which the message names",
        "store/test_outbox.py::test_a_session_ends_with_3_and_says_where_they_are",
    ),
    Attack(
        "`data random` is compressed, by zstd over windows of 4 KiB to 1 MiB",
        "more than 0.99 of its size",
        "backends/test_write_data.py::test_random_data_does_not_compress",
    ),
    Attack(
        "the same random writes, ended by bytes and by passes",
        "the same write amplification",
        "backends/test_permuted.py::test_bytes_and_passes_wear_a_drive_alike",
    ),
    Attack(
        "a session is interrupted in the first of five cells",
        "held in 1 of 5, 4 not measured; all cells stay in view",
        "runner/test_partial_sessions.py::test_held_in_one_of_five",
    ),
    Attack(
        "a steady state that is never reached",
        "exit code 1, unless the plan says `on unsteady continue`",
        "runner/test_partial_sessions.py::test_never_steady_is_an_exit_code",
    ),
    Attack(
        "a slow stream beside a fast one",
        "a row for each direction of each stream",
        "report/test_show.py::test_the_page_has_a_row_for_each",
    ),
    Attack(
        "reads of space that was never written",
        "a warning, in `check`, before the run and in the record",
        "language/test_lints.py::test_a_run_warns_before_it_and_in_the_record",
    ),
    Attack(
        "a pipe instead of a plan",
        "refused at once",
        "language/test_language.py::test_a_file_that_is_no_plan",
    ),
    Attack(
        "fio prints without end and without a result",
        "the run fails after 32 MiB, and says so",
        "backends/test_fio_output.py::test_a_flood_without_a_result",
    ),
    Attack(
        "flushes and blocks that fio leaves out",
        "gaps of the backend, refused without `--allow` or `--allow-approximate`",
        "backends/test_fio_jobfile.py::test_what_differs_by_engine_and_version",
    ),
    Attack(
        "job files of fio with programs to run, endless words, NULs, cycles, odd numbers",
        "one message before any I/O, and nothing written",
        "importer/test_fio_hostile.py::test_a_job_file_is_refused_in_a_message",
    ),
    Attack(
        "`ioplan fio --filename=/data/a#1`, which a job file cuts to `/data/a`",
        "refused: it would be another target",
        "importer/test_fio_hostile.py::test_a_command_line_is_refused_in_a_message",
    ),
    Attack(
        "a job file whose options would hold for the jobs of the next file",
        "refused",
        "importer/test_fio_hostile.py::test_no_file_has_a_say_in_the_jobs_of_another",
    ),
)
