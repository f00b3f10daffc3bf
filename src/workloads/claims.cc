#include "workloads/claims.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/hash.h"
#include "base/run_uuid.h"
#include "workloads/subject.h"

namespace pawl::workloads {

namespace {

constexpr std::int64_t kLeaseMs = 600'000;
constexpr std::size_t kBatch = 500;

Result<std::int64_t> now_of(store::Store& store) {
  PAWL_TRY_ASSIGN(const std::optional<std::int64_t> told, store.read_clock());
  return told.value_or(std::chrono::duration_cast<std::chrono::milliseconds>(
                           std::chrono::system_clock::now().time_since_epoch())
                           .count());
}

// Applies one operation for each number below `count`, many at a time.
template <class MakeOp>
Result<void> apply_many(store::Store& store, std::size_t count, const MakeOp& make) {
  for (std::size_t first = 0; first < count; first += kBatch) {
    std::vector<store::Op> ops;
    for (std::size_t i = first; i < std::min(count, first + kBatch); ++i) {
      ops.emplace_back(make(i));
    }
    PAWL_TRY(store.apply(ops));
  }
  return {};
}

}  // namespace

Result<std::vector<double>> measure_claims(store::Store& store, const std::string& kind,
                                           const std::string& prefix, std::size_t runs,
                                           std::size_t limit) {
  PAWL_TRY_ASSIGN(const std::int64_t now_ms, now_of(store));
  PAWL_TRY(apply_many(store, runs, [&](std::size_t i) {
    store::StartRun start;
    start.run.id = prefix + std::to_string(i);
    start.run.uuid = make_run_uuid(now_ms, stable_digest(start.run.id), i);
    start.run.kind = kind;
    start.run.input = "1";
    start.now_ms = now_ms;
    return start;
  }));
  store::WorkerInfo info;
  info.name = "bench";
  info.now_ms = now_ms;
  info.expires_ms = now_ms + kLeaseMs;
  PAWL_TRY_ASSIGN(const store::WorkerKey worker, store.add_worker(info));
  std::vector<double> claims_ms;
  std::vector<store::RunKey> claimed;
  while (claimed.size() < runs) {
    store::ClaimDue due;
    due.kinds = {kind};
    due.worker = worker;
    due.limit = limit;
    due.now_ms = now_ms;
    std::vector<store::Op> ops;
    ops.emplace_back(std::move(due));
    const auto begun = Clock::now();
    PAWL_TRY(store.apply(ops));
    claims_ms.push_back(seconds_since(begun) * 1000);
    const auto& done = std::get<store::ClaimDue>(ops[0]);
    if (done.claims.empty()) {
      return make_error(ErrorCode::kInvalidState, "runs that are due were not claimed");
    }
    for (const store::Claim& claim : done.claims) {
      claimed.push_back(claim.row.key);
    }
  }
  PAWL_TRY(apply_many(store, claimed.size(), [&](std::size_t i) {
    store::Terminate end;
    end.run = claimed[i];
    end.payload = "\"done\"";
    end.now_ms = now_ms;
    return end;
  }));
  PAWL_TRY(store.remove_worker(worker, now_ms));
  std::sort(claims_ms.begin(), claims_ms.end());
  return claims_ms;
}

}  // namespace pawl::workloads
