#include "store/postgres/records.h"

#include <array>
#include <optional>
#include <string>

#include "store/checkpoint_codec.h"

namespace pawl::store::pg {

StoredRun read_run(const Row& row) {
  StoredRun run;
  RunRow& to = run.row;
  to.key = row.as_integer(0);
  to.owner = row.as_integer(1);
  to.epoch = row.as_integer(2);
  to.status = static_cast<RunStatus>(row.as_integer(3));
  to.goal = row.is_null(4) ? RunStatus::kRunning : static_cast<RunStatus>(row.as_integer(4));
  to.wake_ms = row.as_moment(5);
  to.number = static_cast<std::uint32_t>(row.as_integer(6));
  to.created_ms = row.as_integer(7);
  to.changed_ms = row.as_integer(8);
  to.parent.run = row.as_integer(9);
  to.parent.close = static_cast<ParentClose>(row.as_integer(10));
  to.parent.command = row.as_string(11);
  to.uuid = row.as_uuid(12);
  to.id = row.as_string(13);
  to.kind = row.as_string(14);
  to.definition = row.as_string(15);
  to.is_approved = row.as_bool(16);
  to.waiting_for = row.as_string(17);
  to.is_paused = row.as_bool(18);
  run.chain = row.is_null(19) ? to.key : row.as_integer(19);
  return run;
}

namespace {

void read_new_arrival(const Row& row, NewArrival& to) {
  to.kind = static_cast<std::uint8_t>(row.as_integer(2));
  to.due_ms = row.as_integer(3);
  to.id = row.as_string(4);
  to.location = row.as_string(5);
  to.name = row.as_string(6);
  to.number = row.as_integer(7);
  to.extra = row.as_string(8);
  to.has_payload = !row.is_null(9);
  to.payload = row.as_string(9);
}

}  // namespace

Arrival read_arrival(const Row& row) {
  Arrival arrival;
  read_new_arrival(row, arrival);
  arrival.key = row.as_integer(0);
  arrival.run = row.as_integer(1);
  return arrival;
}

StoredArrival read_stored_arrival(const Row& row) {
  StoredArrival arrival;
  read_new_arrival(row, arrival);
  arrival.is_kept = row.as_bool(10);
  return arrival;
}

TaskRow read_task(const Row& row) {
  TaskRow task;
  task.key = row.as_integer(0);
  task.run = row.as_integer(1);
  task.run_id = row.as_string(2);
  task.state = static_cast<TaskState>(row.as_integer(3));
  task.priority = static_cast<std::int32_t>(row.as_integer(4));
  task.attempt = static_cast<std::uint32_t>(row.as_integer(5));
  task.owner = row.as_integer(6);
  task.due_ms = row.as_moment(7);
  task.deadline_ms = row.as_moment(8);
  task.attempt_ms = row.as_integer(9);
  task.heartbeat_ms = row.as_integer(10);
  task.created_ms = row.as_integer(11);
  task.started_ms = row.as_integer(12);
  task.cancel_requested = row.as_bool(13);
  task.id = row.as_string(14);
  task.queue = row.as_string(15);
  task.type = row.as_string(16);
  task.options = row.as_string(17);
  task.last_error = row.as_string(18);
  task.details = row.as_string(19);
  task.has_input = !row.is_null(20);
  task.input = row.as_string(20);
  task.wait_ms = row.as_integer(21);
  return task;
}

CompensationRow read_compensation(const Row& row) {
  CompensationRow compensation;
  compensation.position = static_cast<std::uint32_t>(row.as_integer(0));
  compensation.state = static_cast<CompensationState>(row.as_integer(1));
  compensation.attempt = static_cast<std::uint32_t>(row.as_integer(2));
  compensation.due_ms = row.as_integer(3);
  compensation.name = row.as_string(4);
  compensation.outcome = row.as_string(5);
  compensation.has_input = !row.is_null(6);
  compensation.input = row.as_string(6);
  return compensation;
}

Result<void> visit_entry(const Connection& connection, const Row& row,
                         const std::function<Result<void>(const replay::Entry&)>& visit) {
  replay::Entry entry;
  entry.seq = static_cast<std::uint64_t>(row.as_integer(0));
  entry.kind = static_cast<replay::EntryKind>(row.as_integer(1));
  entry.time_ms = row.as_integer(2);
  entry.version = static_cast<std::uint32_t>(row.as_integer(3));
  std::array<std::string, 6> kept;  // Hostile names; empty, nearly always.
  entry.location = row.as_text(4, kept[0]);
  entry.id = row.as_text(5, kept[1]);
  entry.name = row.as_text(6, kept[2]);
  entry.child_kind = row.as_text(7, kept[3]);
  entry.removed = static_cast<replay::CommandKind>(row.as_integer(8));
  entry.step_key = row.as_text(9, kept[4]);
  entry.source = row.as_text(10, kept[5]);
  entry.checked = static_cast<std::uint32_t>(row.as_integer(11));
  entry.number = row.as_integer(12);
  entry.input_digest = static_cast<std::uint64_t>(row.as_integer(13));
  entry.extra = row.as_bytes(14);
  entry.has_payload = !row.is_null(16);
  entry.payload = row.as_bytes(16);
  std::optional<replay::Checkpoint> checkpoint;
  if (!row.is_null(15)) {
    checkpoint.emplace();
    if (!decode_checkpoint(row.as_bytes(15), *checkpoint)) {
      return make_error(ErrorCode::kStoreCorrupt, "the database at '" + connection.place() +
                                                      "' holds a damaged checkpoint at seq " +
                                                      std::to_string(entry.seq) +
                                                      "; stop, and restore a copy");
    }
    entry.checkpoint = &*checkpoint;
  }
  return visit(entry);
}

}  // namespace pawl::store::pg
