#include "moving/move.h"

#include <optional>
#include <vector>

#include "store/catalog.h"

namespace pawl::moving {

namespace {

using store::Seal;

Error refused(std::string sentence) {
  return make_error(ErrorCode::kInvalidState, std::move(sentence));
}

Error taken_over() { return refused("another `pawl migrate` has taken over; let that one finish"); }

}  // namespace

// What the seals of both sides say.
Result<Move::Begun> Move::look() {
  PAWL_TRY_ASSIGN(from_before_, from_.store.read_seal());
  PAWL_TRY_ASSIGN(to_before_, to_.store.read_seal());
  const std::optional<Seal> source = store::parse_seal(from_before_);
  const std::optional<Seal> target = store::parse_seal(to_before_);
  if ((!source && !from_before_.empty()) || (!target && !to_before_.empty())) {
    return refused(store::seal_sentence(source ? to_before_ : from_before_));
  }
  if (source && source->kind == Seal::Kind::kFilling) {
    return refused("the source '" + from_.place + "' is being filled with the runs of '" +
                   source->other + "'; finish that first");
  }
  const bool is_ours =
      source && target && target->kind == Seal::Kind::kFilling && source->move == target->move;
  if (is_ours) {
    id_ = source->move;
    return Begun::kGoesOn;
  }
  if (source && target && from_before_ == to_before_ && source->kind == Seal::Kind::kMoving) {
    return refused("both sides are the same namespace of the same store");
  }
  if (source && source->kind == Seal::Kind::kMoved) {
    if (!target && source->other == to_.place) {
      return Begun::kDoneBefore;
    }
    return refused("the runs of '" + from_.place + "' have moved to '" + source->other +
                   "' before");
  }
  if (target) {
    return refused("the target '" + to_.place + "' " +
                   (target->kind == Seal::Kind::kFilling
                        ? "is being filled with the runs of '" + target->other +
                              "' by another move; give another target, or remove what is there"
                        : "is the source of a move to '" + target->other + "'"));
  }
  PAWL_TRY_ASSIGN(const std::int64_t runs, to_.store.catalog().count_runs({}));
  if (runs > 0) {
    return refused("the target '" + to_.place + "' has " + std::to_string(runs) +
                   (runs == 1 ? " run" : " runs") +
                   " already; give one without any, e.g. another namespace of it by ?namespace=");
  }
  return Begun::kNew;
}

Result<void> Move::check_idle(Side& side, const char* role, std::int64_t now_ms) {
  PAWL_TRY(side.store.free_expired(0, now_ms));
  PAWL_TRY_ASSIGN(const std::vector<store::WorkerRow> workers, side.store.catalog().list_workers());
  if (workers.empty()) {
    return {};
  }
  std::string names;
  constexpr std::size_t kNamed = 5;
  for (std::size_t i = 0; i < workers.size() && i < kNamed; ++i) {
    names += (i == 0 ? "" : ", ") + workers[i].name;
  }
  if (workers.size() > kNamed) {
    names += " and " + std::to_string(workers.size() - kNamed) + " more";
  }
  return refused("programs work on the " + std::string(role) + " '" + side.place + "': " + names +
                 "; stop them, and try again. One that was killed counts until its lease is over");
}

Result<void> Move::seal_source() {
  const std::optional<Seal> before = store::parse_seal(from_before_);
  if (before && before->move == id_) {
    moving_ = from_before_;  // Of the call that this one goes on with; maybe moved.
    return check_idle(from_, "source", now_ms_);
  }
  moving_ = store::seal_text({Seal::Kind::kMoving, id_, "", to_.place});
  PAWL_TRY_ASSIGN(const bool sealed, from_.store.change_seal(from_before_, moving_));
  if (!sealed) {
    return taken_over();
  }
  const auto take_back = [&](Error error) -> Result<void> {
    PAWL_TRY(from_.store.change_seal(moving_, from_before_));
    return error;
  };
  const Result<std::string> there = to_.store.read_seal();
  if (!there) {
    return take_back(there.error());
  }
  if (*there == moving_) {
    return take_back(refused("both sides are the same namespace of the same store"));
  }
  if (const Result<void> idle = check_idle(from_, "source", now_ms_); !idle) {
    return take_back(idle.error());
  }
  return {};
}

Result<void> Move::seal_target() {
  filling_ = store::seal_text({Seal::Kind::kFilling, id_, holder_, from_.place});
  PAWL_TRY_ASSIGN(const bool sealed, to_.store.change_seal(to_before_, filling_));
  if (!sealed) {
    return taken_over();
  }
  if (const Result<void> idle = check_idle(to_, "target", now_ms_); !idle) {
    PAWL_TRY(to_.store.change_seal(filling_, to_before_));
    return idle;
  }
  return {};
}

Result<Move::Begun> Move::begin() {
  PAWL_TRY_ASSIGN(const Begun begun, look());
  if (begun == Begun::kDoneBefore) {
    return begun;
  }
  PAWL_TRY(seal_source());
  if (const Result<void> sealed = seal_target(); !sealed) {
    if (moving_ != from_before_) {
      PAWL_TRY(from_.store.change_seal(moving_, from_before_));
    }
    return sealed.error();
  }
  return begun;
}

Result<void> Move::finish() {
  const std::string moved = store::seal_text({Seal::Kind::kMoved, id_, "", to_.place});
  if (moving_ != moved) {
    PAWL_TRY_ASSIGN(const bool is_moved, from_.store.change_seal(moving_, moved));
    if (!is_moved) {
      return taken_over();
    }
  }
  PAWL_TRY_ASSIGN(const bool is_open, to_.store.change_seal(filling_, ""));
  return is_open ? Result<void>() : Result<void>(taken_over());
}

Result<bool> Move::reopen(store::MovableStore& store) {
  PAWL_TRY_ASSIGN(const std::string text, store.read_seal());
  if (text.empty()) {
    return false;
  }
  const std::optional<Seal> seal = store::parse_seal(text);
  if (!seal || seal->kind == Seal::Kind::kFilling) {
    return refused(store::seal_sentence(text));
  }
  PAWL_TRY_ASSIGN(const bool changed, store.change_seal(text, ""));
  return changed ? Result<bool>(true) : Result<bool>(taken_over());
}

}  // namespace pawl::moving
