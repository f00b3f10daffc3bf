// CodeHost: where the code of a run meets its machine. What the code asks of the engine is
// collected here and taken over when the code is blocked. So nothing else of the run is touched
// while its code goes on, which may be on a thread of somebody else's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/program.h"
#include "store/store.h"

namespace pawl::engine {

class CodeHost final : public RunHost {
 public:
  // An operation that is to be executed.
  struct Asked {
    replay::FutureId future = 0;
    std::shared_ptr<const ActivityBody> body;  // One of these three.
    std::shared_ptr<const RemoteBody> remote;
    TransactBody transact;
    RetryPolicy retry;
    std::int64_t timeout_ms = 0;
  };

  explicit CodeHost(const store::RunRow& row);

  void set_machine(replay::Machine* machine) { machine_ = machine; }
  // Forgets what has not been taken over.
  void clear();

  // --- For whoever executes the code ---
  // Delivers the next arrival. None: nothing is left, all that is not blocked has ended.
  Result<std::optional<replay::Delivery>> next_delivery();
  // Before the code is said to have ended: signals that nobody waits for are sent, too.
  void record_sends();
  // Lets `program` go on until all of its code is blocked or has ended; if `is_new`, from its
  // start.
  void run(Program& program, bool is_new);

  // --- For the engine, when that is over ---
  std::vector<Asked>& asked() { return asked_; }
  std::vector<store::Outgoing>& sent() { return sent_; }
  std::vector<replay::Delivery>& delivered() { return delivered_; }

  // --- RunHost ---
  void execute(replay::FutureId operation, ActivityBody body, RetryPolicy retry,
               std::int64_t timeout_ms) override;
  void execute_elsewhere(replay::FutureId operation, RemoteBody body, RetryPolicy retry,
                         std::int64_t timeout_ms);
  void transact(replay::FutureId operation, TransactBody body, RetryPolicy retry) override;
  void send(replay::FutureId operation, std::string run_id, std::string signal, std::string payload,
            std::string extra, std::string dedupe) override;

 private:
  Asked& ask(replay::FutureId operation, RetryPolicy retry, std::int64_t timeout_ms);
  void finish(const ProgramEnd& end);

  struct SendCall {
    replay::FutureId future = 0;
    store::Outgoing outgoing;
  };
  std::vector<SendCall> sends_;  // Not recorded yet.
  std::vector<Asked> asked_;
  std::vector<store::Outgoing> sent_;
  std::vector<replay::Delivery> delivered_;
  std::vector<replay::AwaitStatus> woken_;
};

}  // namespace pawl::engine
