// Moving a namespace from one store to another.

#include <utility>

#include "store/operations/operations.h"

namespace pawl::store {

Result<bool> Operations::change_seal(std::string_view expected, std::string_view next) {
  PAWL_TRY_ASSIGN(const std::string found, transaction_.read_seal(Transaction::Seals::kToChange));
  if (found != expected) {
    return false;
  }
  PAWL_TRY(transaction_.write_seal(next));
  concerns_others_ = true;
  return true;
}

Result<void> Operations::check_seal(std::string_view seal) {
  PAWL_TRY_ASSIGN(const std::string found, transaction_.read_seal(Transaction::Seals::kToKeep));
  if (found != seal) {
    return make_error(ErrorCode::kInvalidState,
                      "somebody else has begun to fill the namespace, or has ended that");
  }
  return {};
}

Result<void> Operations::carry(std::string_view seal, std::span<CarryRun> runs) {
  PAWL_TRY(check_seal(seal));
  for (CarryRun& run : runs) {
    PAWL_TRY(carry(run));
  }
  return {};
}

Result<void> Operations::carry(CarryRun& op) {
  RunRow row = op.image.row;
  row.owner = 0;
  row.parent = {};
  PAWL_TRY_ASSIGN(op.row, runs_.add_as_is(std::move(row), op.image.input, op.image.tags));
  PAWL_TRY(append(op.row.key, op.entries, op.moved_away));
  return add_parts(op.row.key, op.image);
}

Result<void> Operations::link(std::string_view seal, std::span<const CarryParent> links) {
  PAWL_TRY(check_seal(seal));
  for (const CarryParent& link : links) {
    PAWL_TRY(runs_.set_parent(link.run, link.parent));
  }
  return {};
}

Result<void> Operations::append(std::string_view seal, const CarryLog& log) {
  PAWL_TRY(check_seal(seal));
  PAWL_TRY(runs_.get_head(log.run));
  return append(log.run, log.entries, log.moved_away);
}

Result<void> Operations::append(RunKey run, std::span<const replay::Entry> entries,
                                std::span<const MovedAway> moved_away) {
  PAWL_TRY_ASSIGN(const bool appended, log_.append(run, entries));
  if (!appended) {
    return make_error(ErrorCode::kInvalidArgument, "two entries of the log have the same seq");
  }
  for (const MovedAway& part : moved_away) {
    PAWL_TRY(log_.forget(run, part.seqs, part.loop, part.iteration));
  }
  return {};
}

}  // namespace pawl::store
