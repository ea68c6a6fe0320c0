//! The table of faults with the tests that cover each one: of the terminal, of dependencies and servers, of the store, and
//! of keys, foreign text, and tools.
//! Not for: the tests themselves.

/// A row, a file, and the tests in it that cover the row.
type Row = (&'static str, &'static str, &'static [&'static str]);

/// Dependencies, and what servers send.
const SERVERS: &[Row] = &[
    (
        "a tokenizer fails",
        "src/llm/counting/tokens.rs",
        &["hostile_text_is_counted_approximately", "megabytes_of_any_text_are_counted"],
    ),
    ("a byte order mark", "src/llm/sse.rs", &["reads_what_servers_send", "any_bytes_any_split"]),
    (
        "bytes that are no text",
        "src/llm/sse.rs",
        &["invalid_utf8_affects_only_its_line", "work_is_linear_in_the_bytes"],
    ),
    ("a body that is no stream", "src/llm/stream.rs", &["bodies_that_are_not_a_stream", "any_body_is_handled"]),
    ("no end mark", "src/llm/stream.rs", &["only_an_end_mark_completes", "errors_in_the_middle_end_the_answer"]),
    ("sloppy calls", "src/llm/chunk.rs", &["calls_by_id_and_by_place", "calls_that_all_have_index_zero"]),
    ("a terminal that is gone", "tests/it/pty/terminal_lost.rs", &["window_is_closed_during_an_answer"]),
    ("every split", "src/llm/sse.rs", &["every_split_of_a_stream_gives_the_same", "fields_in_any_split"]),
    ("every split", "src/llm/stream.rs", &["every_split_reads_the_same", "texts_split_anywhere_are_joined"]),
    ("every split", "tests/it/llm/wire.rs", &["socket_splits_change_nothing"]),
    ("endless events", "src/llm/sse.rs", &["an_endless_event_is_cut"]),
    ("halves of characters", "src/llm/surrogates.rs", &["any_cut_between_units_gives_the_same_text"]),
    ("halves of characters", "tests/it/llm/wire_faults.rs", &["every_row_of_the_fault_table"]),
    ("dialects", "tests/it/llm/wire.rs", &["every_dialect_is_read"]),
    ("odd objects", "src/llm/chunk.rs", &["content_in_every_form", "usage_in_every_form"]),
    ("absurd usage", "tests/it/llm/wire_faults.rs", &["absurd_cached_tokens_are_bounded_and_reported"]),
    ("calls in pieces", "tests/it/llm/wire.rs", &["tool_calls_are_assembled"]),
    (
        "calls in pieces",
        "src/llm/chunk.rs",
        &[
            "calls_by_index",
            "name_pieces_are_joined",
            "a_repeated_name_is_recognized_by_the_offered_tools",
            "repeated_fields_and_objects_as_arguments",
            "calls_without_id_get_one",
            "interleaved_calls_come_together",
        ],
    ),
    ("calls with one id", "tests/it/engine/turns.rs", &["duplicate_call_ids_are_replaced"]),
    ("a call without a name", "src/llm/stream.rs", &["empty_filtered_or_unnamed_answers_fail"]),
    ("unreadable arguments", "tests/it/llm/wire_faults.rs", &["unreadable_arguments_are_answered_and_not_run"]),
    (
        "no end, a reset, an error in the middle, another body",
        "tests/it/llm/wire.rs",
        &[
            "stream_without_an_end_is_truncated",
            "cut_chunked_body_is_truncated",
            "reset_keeps_the_received_text",
            "error_during_a_stream_is_not_retried",
            "unexpected_body_is_described",
            "open_connection_after_the_finish_reason_is_closed",
        ],
    ),
    ("an unreadable piece", "src/llm/stream.rs", &["an_unreadable_piece_ends_the_answer_and_is_kept"]),
    ("bodies by name", "src/llm/body.rs", &["bodies_are_identified_by_kind"]),
    ("every end", "tests/it/engine/turns.rs", &["every_failure_has_its_own_outcome"]),
    ("every end", "tests/it/llm/wire_faults.rs", &["every_row_of_the_fault_table"]),
    ("silence", "tests/it/llm/wire.rs", &["silent_server_times_out", "stream_of_comments_can_be_stopped"]),
    ("stopped meanwhile", "tests/it/llm/wire.rs", &["stopping_closes_the_socket_quickly"]),
    ("stopped meanwhile", "tests/it/pty/consent_prompt.rs", &["ctrl_c_stops_the_turn_at_once"]),
    ("nobody there", "tests/it/llm/wire.rs", &["refused_connection_is_tried_twice"]),
    ("no such name, no TLS", "tests/it/llm/wire_faults.rs", &["unreachable_server_is_named_and_nothing_stored"]),
    ("waits as asked", "src/llm/retry.rs", &["reads_every_form_of_retry_after", "backoff_grows_and_has_jitter"]),
    (
        "only what passes, before the first event",
        "tests/it/llm/wire.rs",
        &[
            "rate_limit_is_waited_out",
            "long_retry_after_is_reported_and_not_waited_for",
            "retries_follow_the_profile",
            "permanent_errors_are_not_retried",
            "retry_wait_can_be_stopped",
        ],
    ),
    ("one POST", "tests/it/llm/wire.rs", &["broken_connection_after_the_post_is_not_retried"]),
    (
        "one POST",
        "tests/it/engine/turns.rs",
        &[
            "one_post_and_events_in_order",
            "two_quick_asks_are_one_call",
            "same_bytes_are_never_posted_twice",
            "crashed_run_is_recovered_and_not_sent_again",
        ],
    ),
    ("quirks", "tests/it/llm/wire_faults.rs", &["quirks_are_learned_for_each_model_shown_and_forgotten"]),
    (
        "stopped",
        "tests/it/engine/turns.rs",
        &["cancelled_before_and_after_the_first_word", "stopping_keeps_the_partial_answer"],
    ),
    ("killed", "tests/it/store/crash.rs", &["kills_during_a_stream_lose_nothing", "kill_before_the_first_word"]),
    ("keys", "tests/it/llm/wire.rs", &["errors_never_show_the_key"]),
    ("keys", "tests/it/cli/commands.rs", &["api_key_is_sent_only_to_the_server"]),
    ("keys", "tests/it/llm/wire_faults.rs", &["diagnostics_are_bounded_masked_and_removed_with_their_message"]),
    ("another host", "tests/it/llm/wire.rs", &["redirects_never_carry_the_key"]),
];

/// The terminal.
const TERMINAL: &[Row] = &[
    (
        "given back",
        "tests/it/pty/terminal_restored.rs",
        &[
            "after_quitting",
            "after_signals",
            "with_the_mouse_taken",
            "after_a_panic",
            "panic_in_a_call_ends_only_the_call",
            "after_a_failed_start",
            "ctrl_c_at_once",
        ],
    ),
    ("into the background", "tests/it/pty/shell.rs", &["suspend_and_resume", "stopped_program_ends_with_its_terminal"]),
    ("closed", "tests/it/pty/terminal_lost.rs", &["window_is_closed_during_an_answer", "in_tmux"]),
    ("sizes", "tests/it/pty/sizes.rs", &["many_size_changes", "tiny_and_huge_sizes"]),
    ("sizes", "tests/it/screens/every_screen/properties.rs", &["nothing_panics"]),
    (
        "pastes",
        "tests/it/pty/journeys.rs",
        &["enormous_paste", "paste_that_contains_its_end_marker", "paste_without_brackets"],
    ),
    ("pastes", "src/tui/shell/input.rs", &["a_long_burst_is_one_paste", "a_line_end_inside_a_burst_is_text"]),
    ("widths", "src/tui/text/wrap.rs", &["never_wider_than_the_room"]),
    ("widths", "src/tui/text/markdown.rs", &["any_text_fits_and_is_safe"]),
    (
        "sequences",
        "tests/it/pty/hostile_text.rs",
        &["from_stored_conversations", "from_a_server", "from_the_keyboard", "links_contain_only_addresses"],
    ),
    ("sequences", "tests/it/cli/bad_input.rs", &["hostile_text_never_controls_the_terminal"]),
    ("sequences", "src/domain/base/safe_text.rs", &["no_control_character_is_output", "no_control_sequence_is_copied"]),
    (
        "invisible text",
        "src/domain/base/safe_text.rs",
        &["no_invisible_character_passes", "no_control_character_is_output", "exact_is_reversible"],
    ),
    ("invisible text in pipes", "tests/it/cli/folder.rs", &["invisible_characters_are_escaped_on_request"]),
];

/// The store, imports, and exports.
const STORE: &[Row] = &[
    (
        "whole or not at all",
        "tests/it/store/crash.rs",
        &["kills_during_writes_lose_nothing", "kills_during_a_stream_lose_nothing"],
    ),
    (
        "several programs",
        "tests/it/cli/many_processes.rs",
        &["eight_processes_share_one_store", "eight_processes_take_turns_on_one_branch"],
    ),
    ("several programs", "src/store/tests/many.rs", &["eight_windows_write_without_an_error"]),
    (
        "several programs",
        "src/store/tests/fences.rs",
        &[
            "a_moved_head_is_not_overwritten",
            "one_open_run_per_branch_while_its_owner_is_alive",
            "a_late_end_writes_nothing",
        ],
    ),
    (
        "one branch asked at once",
        "tests/it/cli/many_processes.rs",
        &["without_waiting_others_are_refused", "waiting_process_continues_after_a_kill"],
    ),
    (
        "no log, no right to write",
        "src/store/tests/files.rs",
        &[
            "without_wal_the_store_works_with_a_notice",
            "a_read_only_folder_is_opened_for_reading",
            "a_read_only_file_is_opened_immutable",
        ],
    ),
    ("an import into a store that cannot be written", "tests/it/cli/bad_input.rs", &["a_read_only_folder"]),
    ("a full disk", "src/store/tests/files.rs", &["a_full_disk_is_survived"]),
    ("a full disk", "tests/it/store/crash.rs", &["full_disk_during_an_answer"]),
    ("a full disk", "tests/it/pty/damage.rs", &["full_disk_during_an_answer", "quitting_on_a_full_disk"]),
    ("output without room", "tests/it/cli/bad_input.rs", &["failing_standard_output"]),
    (
        "damage",
        "src/store/tests/damage.rs",
        &[
            "a_damaged_store_is_unchanged_until_it_is_moved_completely",
            "a_damaged_backup_is_skipped",
            "readable_messages_are_salvaged",
        ],
    ),
    (
        "damage",
        "tests/it/pty/damage.rs",
        &["nothing_changes_without_an_answer", "from_the_newest_backup", "from_an_empty_store"],
    ),
    (
        "silent damage",
        "src/store/tests/damage.rs",
        &["an_empty_store_beside_a_backup_counts_as_damaged", "content_on_intact_pages_is_examined"],
    ),
    (
        "an unreadable stored plan",
        "src/store/tests/unreadable_plans.rs",
        &[
            "they_are_named_and_dropped_and_the_rest_stays",
            "calls_go_on_after_them_in_a_group_of_their_own",
            "a_removal_drops_them_because_they_may_hold_the_text",
            "a_session_that_shares_one_can_be_deleted",
            "plans_of_an_older_version_are_named_and_dropped_too",
        ],
    ),
    ("silent damage", "tests/it/cli/bad_input.rs", &["vanished_store_and_missing_content"]),
    (
        "checked after an unclean end only",
        "src/store/tests/damage.rs",
        &["only_an_unclean_end_starts_a_check", "damage_after_an_unclean_end_is_reported"],
    ),
    (
        "versions",
        "src/store/tests/migrate.rs",
        &[
            "the_fixture_of_schema_1_opens",
            "an_older_store_is_migrated_after_a_backup",
            "a_failed_migration_leaves_the_old_store",
            "a_kill_during_migration_leaves_the_old_store",
        ],
    ),
    ("versions", "tests/it/cli/bad_input.rs", &["store_of_a_newer_version"]),
    ("modes of files", "src/store/tests/files.rs", &["only_the_owner_reads_the_files"]),
    ("modes of files", "src/config/load_tests.rs", &["files_are_private_and_open_permissions_are_reported"]),
    (
        "removed for good",
        "src/store/tests/purge.rs",
        &[
            "a_removed_message_leaves_no_trace",
            "a_purge_waits_for_readers_and_reports_it",
            "deleting_a_session_keeps_texts_that_others_share",
        ],
    ),
    ("removed from backups", "src/store/tests/plans.rs", &["removed_text_can_be_removed_from_backups"]),
    (
        "stored plans stay small",
        "src/store/tests/plans.rs",
        &[
            "a_turn_takes_few_bytes_in_a_long_conversation",
            "plans_of_an_older_store_read_the_same_during_conversion",
            "an_older_store_is_converted_in_the_background",
            "only_the_newest_of_the_kept_backups_has_plans",
        ],
    ),
    ("stored plans read back", "src/store/tables/packed_plans.rs", &["every_plan_reads_as_it_was_stored"]),
    ("imports at once", "tests/it/cli/exchange.rs", &["concurrent_imports_add_a_conversation_once"]),
    (
        "input without bounds",
        "tests/it/cli/exchange.rs",
        &["import_memory_stays_below_200_mb", "endless_message_is_refused"],
    ),
    ("input without bounds", "tests/it/cli/bad_input.rs", &["ten_megabytes_on_standard_input"]),
];

/// Foreign text, and tools.
const TOOLS: &[Row] = &[
    (
        "secrets",
        "src/domain/base/secrets.rs",
        &["every_rule_has_a_sample_and_masks_it", "harmless_text_is_unchanged", "many_and_multibyte"],
    ),
    ("foreign text is data", "tests/it/engine/project.rs", &["imitated_delimiters_stay_inside"]),
    ("foreign text is data", "src/context/render/render_forms.rs", &["delimiter_is_absent_from_the_text"]),
    ("an imported state block", "tests/it/cli/folder.rs", &["imported_state_needs_approval"]),
    (
        "out of the folder",
        "src/tools/tests.rs",
        &[
            "no_path_leads_out",
            "pipes_devices_and_folders_are_refused_without_blocking",
            "swapped_links_never_lead_out_of_reads",
        ],
    ),
    (
        "out of the folder",
        "src/tools/effect_tests.rs",
        &["only_regular_files_inside_are_written", "swapped_links_never_lead_out_of_writes"],
    ),
    (
        "a command reaches outside",
        "tests/it/tools/sandbox_attacks.rs",
        &["attacks_fail_as_any_user_on_any_system", "needed_commands_work_as_any_user_on_any_system"],
    ),
    (
        "a command reaches outside",
        "tests/it/tools/sandbox_commands.rs",
        &[
            "nothing_outside_is_read_or_written",
            "no_network_tracing_or_new_namespaces",
            "fork_bomb_is_killed",
            "environment_contains_no_secrets",
        ],
    ),
    ("scratch folders", "tests/it/tools/sandbox_attacks.rs", &["next_start_clears_what_a_killed_program_left"]),
    (
        "denied files",
        "tests/it/tools/deny_rules.rs",
        &["no_command_reveals_denied_files", "new_rules_apply_to_the_next_read"],
    ),
    ("denied files", "src/tools/tests.rs", &["no_tool_shows_a_denied_file"]),
    (
        "rules with a star",
        "src/domain/tool/indirect_commands.rs",
        &["indirect_commands_are_found", "ordinary_arguments_are_not_indirect"],
    ),
    (
        "a folder's own settings",
        "tests/it/cli/folder.rs",
        &["folder_settings_need_trust_and_approval", "faulty_folder_file_breaks_no_command"],
    ),
    ("files that steer the program", "tests/it/tools/consent.rs", &["control_files_are_approved_one_by_one"]),
    (
        "a yes to what was not seen",
        "tests/it/screens/approval.rs",
        &[
            "text_after_blank_lines_is_visible",
            "approval_counts_once_the_end_was_visible",
            "long_command_is_shown_completely",
        ],
    ),
];

#[test]
fn every_row_names_existing_tests() {
    for (row, file, tests) in [TERMINAL, SERVERS, STORE, TOOLS].concat() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        let source = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{row}: {file}: {error}"));
        for test in tests {
            let at = source.find(&format!("fn {test}(")).unwrap_or_else(|| panic!("{row}: {file} has no {test}"));
            // The test's attributes are directly above it.
            let above = source[..at].lines().rev().map(str::trim).filter(|line| !line.is_empty());
            let attributes: Vec<&str> = above.take_while(|line| line.starts_with("#[")).collect();
            assert!(attributes.contains(&"#[test]"), "{row}: {test} in {file} is no test");
            assert!(!attributes.iter().any(|line| line.starts_with("#[ignore")), "{row}: {test} in {file} is not run");
        }
    }
}
