// How fast the core replays: entries per second, cost per entry over sizes, bytes per entry.
//
// Every benchmark lives a whole replay: load the entries, run a program over them through the same
// calls as an SDK, deliver everything. "Floor" is the limit measured in the same run: reading the
// same entries once, comparing one name and copying nothing.
#include <malloc.h>

#include <array>
#include <cstdlib>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "capi/context.h"
#include "pawl.h"
#include "replay/machine.h"

namespace {

using namespace pawl;          // NOLINT(google-build-using-namespace)
using namespace pawl::replay;  // NOLINT(google-build-using-namespace)

constexpr std::string_view kResult = R"({"ok":true,"n":17})";

// A stored log as a store would hand it out: small rows, their texts in one buffer.
struct StoredLog {
  struct Row {
    EntryKind kind;
    bool has_result;
    std::uint8_t location_size;
    std::uint8_t id_size;
  };
  std::vector<Row> rows;
  std::string texts;
  // Prepended to the location of everything but branches: a thousand levels.
  std::string prefix;

  void add(EntryKind kind, const std::string& location, const std::string& id, bool has_result) {
    rows.push_back({kind, has_result, static_cast<std::uint8_t>(location.size()),
                    static_cast<std::uint8_t>(id.size())});
    texts += location;
    texts += id;
  }

  Log load() const {
    Log log;
    log.reserve(rows.size());
    std::string location = prefix;
    const char* text = texts.data();
    std::uint64_t seq = 0;
    for (const Row& row : rows) {
      Entry entry;
      entry.kind = row.kind;
      entry.seq = ++seq;
      entry.time_ms = 1'700'000'000'000 + static_cast<std::int64_t>(seq);
      entry.location = {text, row.location_size};
      text += row.location_size;
      entry.id = {text, row.id_size};
      text += row.id_size;
      if (!prefix.empty()) {
        // Branches open one below the other, everything else stands in the last of them.
        const std::size_t depth =
            row.kind == EntryKind::kBranchOpened ? seq - 1 : prefix.size() / 3;
        location.assign(prefix, 0, 1 + 3 * depth);
        location += entry.location;
        entry.location = location;
      }
      const bool is_step =
          traits(row.kind).role == EntryRole::kCommand && row.kind != EntryKind::kBranchOpened;
      entry.name = is_step ? "charge" : "";
      entry.has_payload = row.has_result;
      entry.payload = row.has_result ? kResult : "";
      if (!log.load(entry)) {
        std::abort();
      }
    }
    return log;
  }
};

const Uuid kRun = *Uuid::parse("a1b2c3d4-e5f6-7890-abcd-ef1234567890");

std::string id_at(const std::string& location) { return uuid5(kRun, location).to_string(); }

std::string place(std::string_view prefix, std::size_t number) {
  return "{" + std::string(prefix) + std::to_string(number) + "}";
}

std::unique_ptr<Machine> start(const StoredLog& stored, Matching matching) {
  RunInfo info;
  info.run_id = kRun;
  info.matching = matching;
  auto machine = Machine::create(std::move(info), stored.load());
  if (!machine) {
    std::abort();
  }
  return *std::move(machine);
}

// As a host does it: goes on when a delivery has ended the await.
void await_all(Machine& machine, std::span<const FutureId> futures) {
  const AwaitStatus begun = *machine.begin_await(AwaitMode::kAll, futures, false);
  bool is_blocked = begun.state == AwaitState::kBlocked;
  while (is_blocked) {
    if (!*machine.next_delivery()) {
      std::abort();
    }
    for (const AwaitStatus& over : machine.woken()) {
      is_blocked = is_blocked && over.await != begun.await;
    }
  }
}

void await_one(Machine& machine, FutureId future) {
  const std::array<FutureId, 1> futures = {future};
  await_all(machine, futures);
}

Opened open(Machine& machine, CommandKind kind, BranchId branch, std::string_view name) {
  CommandRequest request;
  request.kind = kind;
  request.branch = branch;
  request.name = name;
  const auto opened = machine.open(request);
  if (!opened) {
    std::abort();
  }
  return *opened;
}

void report(benchmark::State& state, std::size_t entries, std::size_t bytes) {
  state.counters["entries/s"] = benchmark::Counter(static_cast<double>(entries),
                                                   benchmark::Counter::kIsIterationInvariantRate);
  state.counters["ns/entry"] = benchmark::Counter(
      static_cast<double>(entries),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  state.counters["bytes/entry"] = static_cast<double>(bytes) / static_cast<double>(entries);
}

// --- Operations one after the other: one entry each, the fast path ---

StoredLog operations_log(std::size_t entries) {
  StoredLog log;
  for (std::size_t i = 1; i <= entries; ++i) {
    const std::string location = place("", i);
    log.add(EntryKind::kOperationCompleted, location, id_at(location), true);
  }
  return log;
}

void operations(benchmark::State& state, Matching matching) {
  const auto count = static_cast<std::size_t>(state.range(0));
  const StoredLog stored = operations_log(count);
  std::size_t bytes = 0;
  for (auto _ : state) {
    const auto machine = start(stored, matching);
    for (std::size_t i = 0; i < count; ++i) {
      await_one(*machine, open(*machine, CommandKind::kOperation, kRootBranch, "charge").future);
    }
    bytes = machine->memory_bytes();
  }
  report(state, count, bytes);
}

// --- Tasks: a command and an arrival each, awaited in turn ---

enum class Arrivals { kAtOnce, kInOrder, kShuffled };

StoredLog tasks_log(std::size_t entries, std::string_view prefix, Arrivals arrivals) {
  StoredLog log;
  const std::size_t tasks = entries / 2;
  const auto command = [&](std::size_t i) {
    const std::string location = place(prefix, i);
    log.add(EntryKind::kTaskScheduled, location, id_at(location), false);
  };
  const auto arrival = [&](std::size_t i) {
    log.add(EntryKind::kTaskCompleted, "", id_at(place(prefix, i)), true);
  };
  if (!prefix.empty()) {
    log.add(EntryKind::kBranchOpened, "{1}", "", false);
  }
  for (std::size_t i = 1; i <= tasks; ++i) {
    command(i);
    if (arrivals == Arrivals::kAtOnce) {
      arrival(i);
    }
  }
  for (std::size_t i = 0; arrivals != Arrivals::kAtOnce && i < tasks; ++i) {
    // 7919 is a prime that divides none of the sizes: every number once, far from its neighbours.
    arrival(arrivals == Arrivals::kInOrder ? i + 1 : (i * 7919) % tasks + 1);
  }
  return log;
}

void tasks(benchmark::State& state) {
  const auto count = static_cast<std::size_t>(state.range(0));
  const StoredLog stored = tasks_log(count, "", Arrivals::kAtOnce);
  std::size_t bytes = 0;
  for (auto _ : state) {
    const auto machine = start(stored, Matching::kStrict);
    for (std::size_t i = 0; i < count / 2; ++i) {
      await_one(*machine, open(*machine, CommandKind::kTask, kRootBranch, "charge").future);
    }
    bytes = machine->memory_bytes();
  }
  report(state, count, bytes);
}

// --- The same through the C ABI, as an SDK in another language does it ---

class AbiRun {
 public:
  explicit AbiRun(const StoredLog& stored) : context_(start(stored, Matching::kStrict)) {
    handle_ = capi::contexts().add(&context_);
  }
  ~AbiRun() { static_cast<void>(capi::contexts().remove(handle_)); }
  AbiRun(const AbiRun&) = delete;
  AbiRun& operator=(const AbiRun&) = delete;

  void step(std::int32_t kind) {
    pawl_command command = {};
    command.size = sizeof(command);
    command.kind = kind;
    command.name = {"charge", 6};
    pawl_opened opened;
    check(pawl_context_open(handle_, &command, &opened));
    pawl_await_state begun;
    check(pawl_context_begin_await(handle_, PAWL_AWAIT_ALL, &opened.future, 1, 0, &begun));
    bool is_blocked = begun.state == PAWL_AWAIT_BLOCKED;
    while (is_blocked) {
      pawl_delivery delivery;
      check(pawl_context_next_delivery(handle_, &delivery));
      check(delivery.is_there != 0 ? PAWL_OK : PAWL_INVALID_STATE);
      for (std::size_t i = 0; i < delivery.woken_count; ++i) {
        is_blocked = is_blocked && delivery.woken[i].id != begun.id;
      }
    }
  }
  std::size_t memory_bytes() const { return context_.machine().memory_bytes(); }

 private:
  static void check(pawl_status status) {
    if (status != PAWL_OK) {
      std::abort();
    }
  }

  capi::Context context_;
  pawl_context handle_;
};

void operations_by_abi(benchmark::State& state) {
  const auto count = static_cast<std::size_t>(state.range(0));
  const StoredLog stored = operations_log(count);
  std::size_t bytes = 0;
  for (auto _ : state) {
    AbiRun run(stored);
    for (std::size_t i = 0; i < count; ++i) {
      run.step(PAWL_OPERATION);
    }
    bytes = run.memory_bytes();
  }
  report(state, count, bytes);
}

void tasks_by_abi(benchmark::State& state) {
  const auto count = static_cast<std::size_t>(state.range(0));
  const StoredLog stored = tasks_log(count, "", Arrivals::kAtOnce);
  std::size_t bytes = 0;
  for (auto _ : state) {
    AbiRun run(stored);
    for (std::size_t i = 0; i < count / 2; ++i) {
      run.step(PAWL_TASK);
    }
    bytes = run.memory_bytes();
  }
  report(state, count, bytes);
}

// --- A branch with very many siblings, all open at once ---

void siblings(benchmark::State& state, Arrivals arrivals) {
  const auto count = static_cast<std::size_t>(state.range(0));
  const StoredLog stored = tasks_log(2 * count, "1, ", arrivals);
  std::size_t bytes = 0;
  for (auto _ : state) {
    const auto machine = start(stored, Matching::kStrict);
    const BranchId branch = open(*machine, CommandKind::kBranch, kRootBranch, "").branch;
    std::vector<FutureId> futures;
    for (std::size_t i = 0; i < count; ++i) {
      futures.push_back(open(*machine, CommandKind::kTask, branch, "charge").future);
    }
    await_all(*machine, futures);
    if (!machine->close_branch(branch)) {
      std::abort();
    }
    bytes = machine->memory_bytes();
  }
  report(state, stored.rows.size(), bytes);
}

// --- A thousand branches inside each other, the steps at the bottom ---

void deep(benchmark::State& state) {
  constexpr std::size_t kDepth = 1000;
  const auto count = static_cast<std::size_t>(state.range(0));
  StoredLog stored;
  stored.prefix = "{";
  for (std::size_t i = 0; i < kDepth; ++i) {
    stored.add(EntryKind::kBranchOpened, "1}", "", false);
    stored.prefix += "1, ";
  }
  for (std::size_t i = 1; i <= count; ++i) {
    stored.add(EntryKind::kOperationCompleted, std::to_string(i) + "}", id_at(std::to_string(i)),
               true);
  }
  std::size_t bytes = 0;
  for (auto _ : state) {
    const auto machine = start(stored, Matching::kStrict);
    std::vector<BranchId> branches = {kRootBranch};
    for (std::size_t i = 0; i < kDepth; ++i) {
      branches.push_back(open(*machine, CommandKind::kBranch, branches.back(), "").branch);
    }
    for (std::size_t i = 0; i < count; ++i) {
      await_one(*machine,
                open(*machine, CommandKind::kOperation, branches.back(), "charge").future);
    }
    while (branches.size() > 1) {
      if (!machine->close_branch(branches.back())) {
        std::abort();
      }
      branches.pop_back();
    }
    bytes = machine->memory_bytes();
  }
  report(state, stored.rows.size(), bytes);
}

// --- Many small branches ---

void branches(benchmark::State& state) {
  const auto count = static_cast<std::size_t>(state.range(0)) / 2;
  StoredLog stored;
  for (std::size_t i = 1; i <= count; ++i) {
    stored.add(EntryKind::kBranchOpened, place("", i), "", false);
    const std::string location = "{" + std::to_string(i) + ", 1}";
    stored.add(EntryKind::kOperationCompleted, location, id_at(location), true);
  }
  std::size_t bytes = 0;
  for (auto _ : state) {
    const auto machine = start(stored, Matching::kStrict);
    for (std::size_t i = 0; i < count; ++i) {
      const BranchId branch = open(*machine, CommandKind::kBranch, kRootBranch, "").branch;
      await_one(*machine, open(*machine, CommandKind::kOperation, branch, "charge").future);
      if (!machine->close_branch(branch)) {
        std::abort();
      }
    }
    bytes = machine->memory_bytes();
  }
  report(state, stored.rows.size(), bytes);
}

// --- New commands, nothing recorded: what a live run pays per step ---

void live(benchmark::State& state) {
  const auto count = static_cast<std::size_t>(state.range(0));
  const StoredLog stored;
  std::size_t bytes = 0;
  for (auto _ : state) {
    const auto machine = start(stored, Matching::kStrict);
    for (std::size_t i = 0; i < count; ++i) {
      const FutureId future = open(*machine, CommandKind::kOperation, kRootBranch, "charge").future;
      if (!machine->complete_operation(future, OutcomeKind::kValue, kResult)) {
        std::abort();
      }
      await_one(*machine, future);
    }
    bytes = machine->memory_bytes();
  }
  report(state, count, bytes);
}

// --- The limit: the same entries, read once ---

void floor(benchmark::State& state) {
  const auto count = static_cast<std::size_t>(state.range(0));
  const StoredLog stored = operations_log(count);
  std::size_t matches = 0;
  for (auto _ : state) {
    const char* text = stored.texts.data();
    for (const StoredLog::Row& row : stored.rows) {
      matches += *text == '{' && row.kind == EntryKind::kOperationCompleted ? 1 : 0;
      text += row.location_size + row.id_size;
      benchmark::DoNotOptimize(matches);
    }
  }
  report(state, count, stored.texts.size() + count * sizeof(StoredLog::Row));
}

void sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->Arg(1'000)->Arg(10'000)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);
  benchmark->MinWarmUpTime(0.2);
}

BENCHMARK_CAPTURE(operations, strict, Matching::kStrict)->Apply(sizes);
BENCHMARK_CAPTURE(operations, per_kind, Matching::kPerKind)->Apply(sizes);
BENCHMARK_CAPTURE(operations, by_name, Matching::kByName)->Apply(sizes);
BENCHMARK(operations_by_abi)->Apply(sizes);
BENCHMARK(tasks)->Apply(sizes);
BENCHMARK(tasks_by_abi)->Apply(sizes);
BENCHMARK_CAPTURE(siblings, in_order, Arrivals::kInOrder)->Apply(sizes);
BENCHMARK_CAPTURE(siblings, shuffled, Arrivals::kShuffled)->Apply(sizes);
BENCHMARK(deep)->Apply(sizes);
BENCHMARK(branches)->Apply(sizes);
BENCHMARK(live)->Apply(sizes);
BENCHMARK(floor)->Apply(sizes);

}  // namespace

int main(int argc, char** argv) {
  // Memory is kept between rounds, as in a worker that replays one run after another; otherwise
  // large logs would measure how fast the kernel hands out pages.
  mallopt(M_MMAP_THRESHOLD, std::numeric_limits<int>::max());
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
    return 1;
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
