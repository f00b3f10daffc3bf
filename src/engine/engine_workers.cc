// The engine, part six: who else works here, and which runs are left to them.
//
// A run belongs to the code that it was recorded under. If another worker has that code, and this
// one has other code for the same kind, the run is left to that worker: in a rolling deploy each
// side goes on with its own runs, and neither meets what only the other one can read. When nobody
// has the code any more, its runs are for all who have the kind.
//
// Who works is read when a claim says that it has changed. A worker is known before it claims
// anything, and a claim by who does not know it yet takes nothing; so no run that a new worker has
// recorded is claimed by one that does not know what the new one has.
#include <algorithm>

#include "engine/engine_impl.h"
#include "engine/serves.h"

namespace pawl::engine {

void EngineImpl::read_workers() {
  if (is_reading_workers_) {
    return;
  }
  is_reading_workers_ = true;
  post(Lane::kReader, [this] {
    const Result<std::vector<store::KnownWorker>> workers = store_->read_workers();
    post(Lane::kLoop, [this, workers] {
      is_reading_workers_ = false;
      if (stopping_) {
        return;
      }
      if (!workers) {
        report(workers.error(), "looking who works");
        delayed_.push_back({back_off(), [this] { read_workers(); }});
        set_alarm();
        return;
      }
      know_workers(*workers);
      claim_soon();
      claim_stuck();
    });
  });
}

std::optional<std::string> EngineImpl::fingerprint_of(std::string_view kind) const {
  const auto found = definitions_.find(kind);
  return found == definitions_.end() ? std::optional<std::string>() : found->second.fingerprint;
}

void EngineImpl::know_workers(const std::vector<store::KnownWorker>& workers) {
  std::vector<store::KindDefinition> left;
  workers_ = {0, static_cast<std::int64_t>(workers.size())};
  for (const store::KnownWorker& worker : workers) {
    workers_.newest = std::max(workers_.newest, worker.key);
    if (worker.key == worker_) {
      continue;
    }
    for (const auto& [kind, fingerprint] : read_serves(worker.serves).kinds) {
      const auto own = definitions_.find(kind);
      if (own != definitions_.end() && !fingerprint.empty() &&
          own->second.fingerprint != fingerprint) {
        left.push_back({kind, fingerprint});
      }
    }
  }
  std::ranges::sort(left);
  left.erase(std::unique(left.begin(), left.end()), left.end());
  const bool any_free = !std::ranges::includes(left, left_);
  left_ = std::move(left);
  if (any_free) {
    // What was blocked and left to others may be for this one now.
    has_tried_all_ = false;
    look_for_stuck();
  }
}

}  // namespace pawl::engine
