// Move: all runs of a namespace go from one store to another, open ones too. docs/migrate.md says
// what is promised.
//
// Both sides are sealed (store/seal.h) before anything is copied, so that nobody works on either:
// the source says where its runs go, the target where they come from. When all is there and
// verified, the source is marked as moved, and then the target's seal is taken away, which lets all
// runs go on there at once. Whatever ends the process, a further call with the same stores goes on.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "store/movable_store.h"
#include "store/seal.h"

namespace pawl::moving {

struct Side {
  store::MovableStore& store;
  std::string place;  // For people: without a password.
};

class Move {
 public:
  // `id`: for the move, if it is a new one; `holder`: of this call. No two are the same.
  Move(Side from, Side to, std::string id, std::string holder, std::int64_t now_ms)
      : from_(std::move(from)),
        to_(std::move(to)),
        id_(std::move(id)),
        holder_(std::move(holder)),
        now_ms_(now_ms) {}

  enum class Begun : std::uint8_t {
    kNew,
    kGoesOn,      // An interrupted one.
    kDoneBefore,  // Everything is there, and nothing is to be done.
  };
  // Seals both. An error leaves both as they were. kInvalidState says who works on one of them, or
  // what is in the way.
  Result<Begun> begin();
  // The target's, for copy_runs().
  const std::string& seal() const { return filling_; }
  // When all is copied and verified. kInvalidState: somebody else has taken over.
  Result<void> finish();

  // Nobody works on it. kInvalidState names who does; `role`: "source".
  static Result<void> check_idle(Side& side, const char* role, std::int64_t now_ms);

  // Takes the seal away from a source whose runs are to stay; its move cannot go on then. False:
  // there is none. kInvalidState: it is being filled.
  static Result<bool> reopen(store::MovableStore& store);

 private:
  Result<Begun> look();
  Result<void> seal_source();
  Result<void> seal_target();

  Side from_;
  Side to_;
  std::string id_;
  std::string holder_;
  std::int64_t now_ms_;
  std::string from_before_;  // Seals when this began.
  std::string to_before_;
  std::string moving_;  // Seals meanwhile.
  std::string filling_;
};

}  // namespace pawl::moving
