package dev.pawl

import kotlinx.serialization.ExperimentalSerializationApi
import kotlinx.serialization.KSerializer
import kotlinx.serialization.SerializationException
import kotlinx.serialization.builtins.serializer
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonNull
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.contentOrNull
import kotlinx.serialization.serializer

/** Payloads are JSON, written so that other languages can read them. */
internal val payloadJson: Json = Json {
    encodeDefaults = true
    ignoreUnknownKeys = true
}

@PublishedApi internal val nullPayload: ByteArray = "null".toByteArray()

/** Writes and reads payloads of one type. Unit, in other languages, is null. */
public class Codec<T>(private val serializer: KSerializer<T>) {
    private val isUnit = serializer === Unit.serializer()

    internal fun encode(value: T, where: () -> String): ByteArray {
        if (isUnit) return nullPayload
        try {
            return payloadJson.encodeToString(serializer, value).toByteArray()
        } catch (error: SerializationException) {
            throw PayloadError("${where()}: cannot be written as JSON: ${error.message}", error)
        }
    }

    internal fun decode(payload: ByteArray?, where: () -> String): T {
        @Suppress("UNCHECKED_CAST")
        if (isUnit) return Unit as T
        try {
            return payloadJson.decodeFromString(serializer, if (payload == null || payload.isEmpty()) "null" else String(payload))
        } catch (error: SerializationException) {
            throw unreadable(where, error)
        } catch (error: IllegalArgumentException) {
            throw unreadable(where, error)
        }
    }

    @OptIn(ExperimentalSerializationApi::class)
    private fun unreadable(where: () -> String, error: Exception) =
        PayloadError("${where()}: is no ${serializer.descriptor.serialName}: ${error.message?.lineSequence()?.first()}", error)
}

/** Of the payloads of [where]. */
@PublishedApi internal inline fun <reified T> codecOf(where: () -> String): Codec<T> = try {
    Codec(serializer<T>())
} catch (error: SerializationException) {
    throw withoutCodec(where(), error)
}

@PublishedApi internal fun withoutCodec(where: String, error: SerializationException): PayloadError =
    PayloadError("$where: ${error.message?.lineSequence()?.first()}", error)

/** A failure as it is recorded. */
internal class RecordedFailure(val type: String, val message: String, val details: JsonElement?) {
    fun toPayload(): ByteArray = payloadJson.encodeToString(
        JsonObject.serializer(),
        buildJsonObject {
            if (type.isNotEmpty()) put("type", JsonPrimitive(type))
            put("message", JsonPrimitive(message))
            details?.let { put("details", it) }
        },
    ).toByteArray()

    companion object {
        /** A text, or an object with `message`; what is neither is a text by itself. */
        fun read(payload: ByteArray): RecordedFailure {
            val text = String(payload)
            val json = try {
                payloadJson.parseToJsonElement(text)
            } catch (_: SerializationException) {
                return RecordedFailure("", text, null)
            }
            return when {
                json is JsonPrimitive && json.isString -> RecordedFailure("", json.content, null)
                json is JsonObject && json["message"] is JsonPrimitive -> RecordedFailure(
                    (json["type"] as? JsonPrimitive)?.contentOrNull ?: "",
                    (json["message"] as JsonPrimitive).contentOrNull ?: "",
                    json["details"]?.takeIf { it !is JsonNull },
                )
                else -> RecordedFailure("", text, null)
            }
        }

        fun of(error: Throwable): RecordedFailure = when (error) {
            is ActivityError -> RecordedFailure(error.type, error.message ?: "", error.details)
            // It failed elsewhere: that is what people want to know.
            is Failure -> RecordedFailure(error.type.ifEmpty { nameOf(error) }, error.message, error.details)
            else -> RecordedFailure(nameOf(error), textOf(error), placeOf(error))
        }

        /** Where in the user's code it comes from: {"at": ["Order.kt:17 charge"]}, the innermost first. */
        private fun placeOf(error: Throwable): JsonElement? {
            val frames = Source.framesOf(error, PLACES)
            return if (frames.isEmpty()) null else buildJsonObject { put("at", JsonArray(frames.map(::JsonPrimitive))) }
        }

        private const val PLACES = 3

        /** A getter of the user's may throw. */
        private fun textOf(error: Throwable): String = try {
            error.message ?: ""
        } catch (_: Throwable) {
            "its message cannot be read"
        }

        private fun nameOf(error: Throwable): String =
            error.javaClass.simpleName.ifEmpty { error.javaClass.superclass?.simpleName ?: "Throwable" }
    }
}
