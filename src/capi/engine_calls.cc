// The functions of the ABI about engines, events and attempts.
#include <string>
#include <utility>

#include <boost/json.hpp>

#include "capi/basics.h"
#include "capi/call.h"
#include "capi/engine.h"
#include "format/json_reader.h"

namespace pawl::capi {

namespace {

Result<std::vector<engine::QueueOptions>> read_queues(pawl_bytes given) {
  PAWL_TRY_ASSIGN(const std::string_view text, read_text(given, "options.queues"));
  if (text.empty()) {
    return std::vector<engine::QueueOptions>{{}};
  }
  const Result<boost::json::value> value = format::parse_json(text);
  const boost::json::object* const object = value ? value->if_object() : nullptr;
  if (object == nullptr) {
    return make_error(ErrorCode::kMalformedInput,
                      "options.queues: a JSON object is expected, {\"default\": 64}");
  }
  std::vector<engine::QueueOptions> queues;
  for (const auto& [name, count] : *object) {
    if (!count.is_int64() || count.get_int64() < 1 || count.get_int64() > 1'000'000 ||
        name.empty()) {
      return make_error(ErrorCode::kMalformedInput, "options.queues: '" + std::string(name) +
                                                        "' needs a name, and a number from 1 to "
                                                        "1000000");
    }
    queues.push_back({std::string(name), static_cast<std::size_t>(count.get_int64())});
  }
  return queues;
}

Result<ApiOptions> read_options(const pawl_engine_options* given) {
  PAWL_TRY_ASSIGN(const pawl_engine_options read, read_struct(given, "options"));
  ApiOptions options;
  options.is_test = read.is_test != 0;
  PAWL_TRY_ASSIGN(options.url, read_text(read.url, "options.url"));
  if (options.url.empty() && !options.is_test) {
    return make_error(ErrorCode::kInvalidArgument,
                      "options.url is empty: give e.g. \"sqlite:app.db\"");
  }
  engine::EngineOptions& engine = options.engine;
  PAWL_TRY_ASSIGN(engine.worker_name, read_text(read.worker_name, "options.worker_name"));
  if (read.lease_ms < 0) {
    return wrong_number("options.lease_ms", read.lease_ms);
  }
  engine.lease_ms = read.lease_ms == 0 ? engine.lease_ms : read.lease_ms;
  engine.cache_bytes = read.cache_bytes == 0 ? engine.cache_bytes : read.cache_bytes;
  engine.payload_bytes_max =
      read.payload_bytes_max == 0 ? engine.payload_bytes_max : read.payload_bytes_max;
  PAWL_TRY_ASSIGN(engine.queues, read_queues(read.queues));
  engine.replay_every_turn = read.replay_every_turn != 0;
  return options;
}

}  // namespace
}  // namespace pawl::capi

using namespace pawl;  // NOLINT(google-build-using-namespace): only functions of the ABI follow.
using namespace pawl::capi;  // NOLINT(google-build-using-namespace)

pawl_status pawl_engine_open(const pawl_engine_options* given, pawl_engine* engine) {
  return call([&]() -> CallEnd {
    PAWL_TRY_ASSIGN(ApiOptions options, read_options(given));
    if (engine == nullptr) {
      return null_argument("engine");
    }
    PAWL_TRY_ASSIGN(std::shared_ptr<ApiEngine> opened, ApiEngine::open(std::move(options)));
    *engine = engines().add(std::move(opened));
    return {};
  });
}

pawl_status pawl_engine_add_workflow(pawl_engine engine, const pawl_workflow_options* given) {
  return with_engine(engine, [&](ApiEngine& it) -> CallEnd {
    PAWL_TRY_ASSIGN(const pawl_workflow_options options, read_struct(given, "options"));
    engine::Definition definition;
    PAWL_TRY_ASSIGN(definition.kind, read_name(options.kind, "options.kind"));
    if (options.matching < PAWL_STRICT || options.matching > PAWL_BY_NAME) {
      return wrong_number("options.matching", options.matching);
    }
    definition.matching = static_cast<replay::Matching>(options.matching);
    PAWL_TRY_ASSIGN(definition.fingerprint, read_text(options.fingerprint, "options.fingerprint"));
    if (options.on_change != PAWL_ON_CHANGE_VERIFY && options.on_change != PAWL_ON_CHANGE_REFUSE) {
      return wrong_number("options.on_change", options.on_change);
    }
    definition.on_change = static_cast<engine::OnChange>(options.on_change);
    return it.add_workflow(std::move(definition));
  });
}

pawl_status pawl_engine_add_activity(pawl_engine engine, pawl_bytes name,
                                     const pawl_retry* compensation_retry) {
  return with_engine(engine, [&](ApiEngine& it) -> CallEnd {
    PAWL_TRY_ASSIGN(const std::string_view type, read_name(name, "name"));
    engine::RetryPolicy retry = engine::ActivityType().compensation_retry;
    if (compensation_retry != nullptr) {
      PAWL_TRY_ASSIGN(retry, read_retry(compensation_retry));
    }
    return it.add_activity(std::string(type), std::move(retry));
  });
}

pawl_status pawl_engine_start(pawl_engine engine) {
  return with_engine(engine, [](ApiEngine& it) { return it.start(); });
}

pawl_status pawl_engine_stop(pawl_engine engine) {
  return with_engine(engine, [](ApiEngine& it) -> CallEnd {
    it.stop();
    return {};
  });
}

pawl_status pawl_engine_free(pawl_engine engine) {
  return call([&]() -> CallEnd {
    // Stopped first: whoever polls is told that it is closed.
    PAWL_TRY_ASSIGN(const std::shared_ptr<ApiEngine> found, engines().find(engine, "engine"));
    found->stop();
    PAWL_TRY(engines().remove(engine, "engine"));
    return {};
  });
}

pawl_status pawl_engine_poll(pawl_engine engine, uint32_t kinds, size_t limit, int64_t timeout_ms,
                             pawl_events* events) {
  return with_engine(engine, [&](ApiEngine& it) -> CallEnd {
    if (events == nullptr) {
      return null_argument("events");
    }
    if (kinds == 0 || limit == 0) {
      return make_error(ErrorCode::kInvalidArgument, "kinds and limit must not be 0");
    }
    auto list = std::make_shared<EventList>();
    PAWL_TRY(it.poll(kinds, limit, timeout_ms, *list));
    list->make_items();
    events->first = list->items.data();
    events->stride = sizeof(pawl_event);
    events->count = list->items.size();
    events->list = event_lists().add(std::move(list));
    return {};
  });
}

pawl_status pawl_attempt_complete(pawl_engine engine, uint64_t attempt, pawl_bytes result) {
  return with_engine(engine, [&](ApiEngine& it) -> CallEnd {
    engine::ActivityOutcome outcome;
    PAWL_TRY_ASSIGN(outcome.result, read_bytes(result, "result"));
    return it.end_attempt(attempt, std::move(outcome));
  });
}

pawl_status pawl_attempt_fail(pawl_engine engine, uint64_t attempt, const pawl_failure* failure) {
  return with_engine(engine, [&](ApiEngine& it) -> CallEnd {
    engine::ActivityOutcome outcome;
    outcome.ok = false;
    PAWL_TRY_ASSIGN(outcome.failure, read_failure(failure));
    return it.end_attempt(attempt, std::move(outcome));
  });
}

pawl_status pawl_attempt_heartbeat(pawl_engine engine, uint64_t attempt, pawl_bytes details,
                                   int32_t* should_stop) {
  return with_engine(engine, [&](ApiEngine& it) -> CallEnd {
    if (should_stop == nullptr) {
      return null_argument("should_stop");
    }
    PAWL_TRY_ASSIGN(const std::string_view bytes, read_bytes(details, "details"));
    PAWL_TRY_ASSIGN(const bool stops, it.heartbeat(attempt, bytes));
    *should_stop = stops ? 1 : 0;
    return {};
  });
}

pawl_status pawl_attempt_should_stop(pawl_engine engine, uint64_t attempt, int32_t* should_stop) {
  return with_engine(engine, [&](ApiEngine& it) -> CallEnd {
    if (should_stop == nullptr) {
      return null_argument("should_stop");
    }
    PAWL_TRY_ASSIGN(const bool stops, it.should_stop(attempt));
    *should_stop = stops ? 1 : 0;
    return {};
  });
}

pawl_status pawl_test_now(pawl_engine engine, int64_t* now_ms) {
  return with_engine(engine, [&](ApiEngine& it) -> CallEnd {
    if (now_ms == nullptr) {
      return null_argument("now_ms");
    }
    PAWL_TRY_ASSIGN(*now_ms, it.test_now());
    return {};
  });
}

pawl_status pawl_test_advance(pawl_engine engine, int64_t duration_ms, uint64_t tag,
                              pawl_reply* reply) {
  return with_engine(engine,
                     [&](ApiEngine& it) { return it.test_advance(duration_ms, tag, reply); });
}
