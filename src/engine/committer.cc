#include "engine/committer.h"

namespace pawl::engine {

namespace {

// Batches of this size are worth being split in two.
constexpr std::size_t kPipelineFrom = 16;

// True for an error that one operation of a batch can cause for all of them.
bool is_about_one(ErrorCode code) {
  return code == ErrorCode::kLimitExceeded || code == ErrorCode::kInvalidArgument ||
         code == ErrorCode::kCorruptLog || code == ErrorCode::kInvalidState;
}

}  // namespace

void Committer::submit(store::Op op, Done done) {
  pending_.ops.push_back(std::move(op));
  pending_.dones.push_back(std::move(done));
  if (!in_flight_ && last_batch_ >= kPipelineFrom && pending_.ops.size() * 2 >= last_batch_) {
    // Many runs in step: half of them commit while the others take their turns.
    flush(false);
    return;
  }
  if (!in_flight_ && !flush_posted_) {
    // Behind what the loop has to do already, which may add to the batch.
    flush_posted_ = true;
    env_.post(Lane::kLoop, [this] {
      flush_posted_ = false;
      flush(true);
    });
  }
}

void Committer::flush(bool is_last_act) {
  if (in_flight_ || pending_.ops.empty()) {
    return;
  }
  in_flight_ = true;
  ++batches_;
  // It goes from lane to lane, so that what it holds is let go on the loop.
  auto batch = std::make_unique<Batch>(std::exchange(pending_, {}));
  last_batch_ = batch->ops.size();
  Job job = [this, batch = std::move(batch)]() mutable {
    write(*batch);
    env_.hand_over(Lane::kLoop, [this, batch = std::move(batch)] { finish(*batch); });
  };
  if (is_last_act) {
    env_.hand_over(Lane::kStore, std::move(job));
  } else {
    env_.post(Lane::kStore, std::move(job));
  }
}

void Committer::write(Batch& batch) {
  const Result<void> result = store_.apply(batch.ops);
  if (!result && batch.ops.size() > 1 && is_about_one(result.error().code)) {
    for (store::Op& op : batch.ops) {
      batch.results.push_back(store_.apply({&op, 1}));
    }
    return;
  }
  batch.results.assign(batch.ops.size(), result);
}

void Committer::finish(Batch& batch) {
  in_flight_ = false;
  for (std::size_t i = 0; i < batch.ops.size(); ++i) {
    batch.dones[i](std::move(batch.results[i]), batch.ops[i]);
  }
  flush(true);
}

}  // namespace pawl::engine
