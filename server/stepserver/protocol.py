"""What pygls does differently here: our own text sync, an answer to every request, errors without popups."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from cattrs import Converter
from lsprotocol import types
from lsprotocol.converters import get_converter
from pygls.exceptions import JsonRpcException, JsonRpcInternalError
from pygls.protocol import JsonRPCNotification, JsonRPCRequestMessage, JsonRPCResponseMessage, LanguageServerProtocol
from pygls.protocol.language_server import lsp_method

from stepserver.transport import Inbox, Unreadable, is_id

if TYPE_CHECKING:
    from concurrent.futures import Future

log = logging.getLogger(__name__)

REQUEST_FAILED: Final = types.LSPErrorCodes.RequestFailed.value
REQUEST_CANCELLED: Final = types.LSPErrorCodes.RequestCancelled.value


class RequestRefused(JsonRpcException):
    """A request that cannot be met; the message is shown to the user (a rename to a name that is taken)."""

    def __init__(self, message: str) -> None:
        super().__init__(message, REQUEST_FAILED)


@dataclass(frozen=True, slots=True)
class PlainAnswer:
    """An answer that is plain JSON already, as the protocol has it."""

    value: Any


def make_converter() -> Converter:
    """Return lsprotocol's converter; our own methods get their parameters as plain JSON, absent ones as None."""
    # The first mistake says enough: a text where a list belongs has one for each character, each with its traceback.
    converter = get_converter(Converter(detailed_validation=False))

    def keep(message: dict[str, Any], kind: type) -> Any:
        return kind(**{"jsonrpc": "2.0", **_wanted(message, kind)})

    def began(_message: dict[str, Any], kind: type) -> Any:
        return kind(params=types.InitializedParams())

    for kind in (JsonRPCRequestMessage, JsonRPCNotification, JsonRPCResponseMessage):
        converter.register_structure_hook(kind, keep)
    # It says nothing, and comes just before the first document: to make its converter would take a millisecond there.
    converter.register_structure_hook(types.InitializedNotification, began)
    return converter


_FIELDS: Final = {
    JsonRPCRequestMessage: ("id", "method", "params"),
    JsonRPCNotification: ("method", "params"),
    JsonRPCResponseMessage: ("id", "result"),
}


def _wanted(message: dict[str, Any], kind: type) -> dict[str, Any]:
    return {name: message.get(name) for name in _FIELDS[kind]}


def _problem(raw: Any) -> types.ResponseError | None:
    """Return what is wrong with what should be a message: one of JSON-RPC 2.0, as LSP narrows it."""
    if isinstance(raw, Unreadable):
        return types.ResponseError(types.ErrorCodes.ParseError.value, f"the message is no JSON: {raw.reason}")
    if not isinstance(raw, dict):
        problem = "a message has to be an object, and batches are no part of the protocol"
    elif raw.get("jsonrpc") != "2.0":
        problem = 'a message has to say "jsonrpc": "2.0"'
    elif raw.get("id") is not None and not is_id(raw["id"]):
        problem = "an id has to be a text or a whole number"
    elif "method" in raw and not isinstance(raw["method"], str):
        problem = "a method has to be a text"
    elif "method" in raw and not isinstance(raw.get("params"), dict | list | None):
        problem = "params have to be an object or a list"
    elif "method" not in raw and (raw.get("id") is None or ("result" in raw) == ("error" in raw)):
        problem = "a message has to have a method, or an id with a result or an error"
    else:
        return None
    return types.ResponseError(types.ErrorCodes.InvalidRequest.value, problem)


def _nothing(number: int | str) -> JsonRPCResponseMessage:
    """Return the answer null, which is the same for all requests."""
    return JsonRPCResponseMessage(id=number, jsonrpc=Protocol.VERSION, result=None)


class Protocol(LanguageServerProtocol):
    """One connection to a client.

    Whoever serves it says where its messages wait (``inbox``), who hears of texts (``hear``, with the method) and whom
    to tell of a crash.
    """

    inbox: Inbox
    hear: Callable[[str, Any], None]
    crash: Callable[[str, BaseException], None]
    _is_ending = False  # from the request ``shutdown`` on, also while it is being carried out

    # -- messages -------------------------------------------------------------------------------------------

    def receive(self, raw: Any) -> None:
        """Handle one message; what cannot be read is answered, too, as far as it says whom to answer."""
        problem = _problem(raw)
        number, method = (raw.get("id"), raw.get("method")) if isinstance(raw, dict) else (None, None)
        if problem is not None:
            log.warning("a message that is none: %s", problem.message)
            self._refuse(number if is_id(number) else None, problem)
        elif method is None:
            self._take_answer(raw)
        elif number is None:
            self._take(raw)
        elif number in self.inbox.cancelled:
            self.inbox.cancelled.discard(number)
            self._refuse(number, types.ResponseError(REQUEST_CANCELLED, "cancelled"))
        elif number in self._request_futures:
            text = f"the id {number!r} is that of a request that is not answered yet"
            self._refuse(number, types.ResponseError(types.ErrorCodes.InvalidRequest.value, text))
        else:
            self._take(raw)

    def _take(self, raw: dict[str, Any]) -> None:
        """Handle a request or a notification."""
        number, method = raw.get("id"), raw["method"]
        try:
            message = self.structure_message(raw)
        except JsonRpcException as error:  # the converter does not tell mistakes of the client from others
            log.warning("unreadable %s", method)
            if number is not None:
                text = f"the parameters of {method} cannot be read: {error.__cause__}"[:300]
                self._refuse(number, types.ResponseError(types.ErrorCodes.InvalidParams.value, text))
            return
        if self._is_ending and number is not None:
            text = "the server is shutting down"
            self._refuse(number, types.ResponseError(types.ErrorCodes.InvalidRequest.value, text))
            return
        self._is_ending = self._is_ending or method == types.SHUTDOWN
        self.handle_message(message)

    def _take_answer(self, raw: dict[str, Any]) -> None:
        """Handle the answer to a request of ours; who asked hears of one that cannot be read, too."""
        number = raw["id"]
        if number not in self._result_types:
            log.warning("an answer to a request that nobody made: %r", number)
            return
        try:
            is_nothing = "result" in raw and raw["result"] is None
            message = _nothing(number) if is_nothing else self.structure_message(raw)
        except JsonRpcException as error:
            log.warning("an unreadable answer: %r", number)
            future = self._request_futures.pop(number, None)
            if future is not None:
                future.set_exception(error)
        else:
            self.handle_message(message)
        self._result_types.pop(number, None)

    def _refuse(self, number: int | str | None, error: types.ResponseError) -> None:
        answer = {"code": error.code, "message": error.message}
        self._send_data({"jsonrpc": self.VERSION, "id": number, "error": answer})

    def _handle_cancel_notification(self, msg_id: Any) -> None:
        if not is_id(msg_id):
            log.warning("a cancellation of what is no id: %s", type(msg_id).__name__)
            return
        self.inbox.cancelled.discard(msg_id)
        future = self._request_futures.get(msg_id)
        if future is not None:
            future.cancel()  # its callback answers

    def _send_handler_result(self, future: Future[Any], *, msg_id: Any) -> None:
        self._request_futures.pop(msg_id, None)
        error = None if future.cancelled() else future.exception()
        if isinstance(error, RequestRefused):
            self._send_response(msg_id, error=error.to_response_error())
        elif future.cancelled():
            self._send_response(msg_id, error=types.ResponseError(REQUEST_CANCELLED, "cancelled"))
        elif error is None and isinstance(result := future.result(), PlainAnswer):
            self._send_data({"jsonrpc": self.VERSION, "id": msg_id, "result": result.value})
        else:
            super()._send_handler_result(future, msg_id=msg_id)

    def serialize(self, data: Any) -> bytes:
        """Return the body of a message."""
        return json.dumps(data, default=self._serialize_message, separators=(",", ":")).encode("ascii")

    def _serialize_message(self, data: Any) -> Any:
        if isinstance(params := getattr(data, "params", None), dict):  # a request whose parameters are plain JSON
            return {"jsonrpc": self.VERSION, "id": data.id, "method": data.method, "params": params}
        return super()._serialize_message(data)

    def _send_data(self, data: Any) -> None:
        try:
            body = self.serialize(data)
        except Exception as error:  # noqa: BLE001 - whatever it is, the client must not wait for ever
            self.crash("the answer", error)
            message = data if isinstance(data, dict) else vars(data)
            number = message.get("id")
            if number is None or "method" in message:
                return
            answer = JsonRpcInternalError("an answer could not be written").to_response_error()
            body = self.serialize(types.ResponseErrorMessage(jsonrpc="2.0", id=number, error=answer))
        self._write(body)

    def _write(self, body: bytes) -> None:
        if self.writer is None:
            return
        try:
            self.writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        except (OSError, ValueError) as error:  # ValueError: it is closed
            log.debug("the client takes no message: %s", error)
            self.inbox.end(1)

    def tell(self, method: str, params: dict[str, Any]) -> None:
        """Send one of our own notifications; its plain JSON needs no converter."""
        self._send_data({"jsonrpc": self.VERSION, "method": method, "params": params})

    async def ask(self, method: str, params: Any) -> Any:
        """Send a request to the client and return its answer; None where the client refuses.

        ``params`` are of the protocol's type, or plain JSON, which needs no converter.
        The wait is shielded: were the future cancelled, the late answer would raise.
        """
        future = asyncio.wrap_future(self.send_request(method, params))
        try:
            return await asyncio.shield(future)
        except JsonRpcException as error:
            log.debug("%s: %s", method, error)
            return None

    # -- the life of a connection --------------------------------------------------------------------------------

    @lsp_method(types.EXIT)
    def lsp_exit(self, *_: Any) -> None:  # type: ignore[override]  # pygls has a generator
        """End the process, with exit code 0 after a shutdown."""
        self.inbox.end(0 if self._is_ending else 1)

    # -- text, in our own hands ------------------------------------------------------------------------------

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: types.DidOpenTextDocumentParams) -> None:
        """Take over a document from the client."""
        self.hear(types.TEXT_DOCUMENT_DID_OPEN, params)

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> None:
        """Apply edits."""
        self.hear(types.TEXT_DOCUMENT_DID_CHANGE, params)

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        """Give a document back."""
        self.hear(types.TEXT_DOCUMENT_DID_CLOSE, params)

    @lsp_method(types.NOTEBOOK_DOCUMENT_DID_OPEN)
    def lsp_notebook_document__did_open(self, params: types.DidOpenNotebookDocumentParams) -> None:
        """Take over a notebook from the client."""
        self.hear(types.NOTEBOOK_DOCUMENT_DID_OPEN, params)

    @lsp_method(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
    def lsp_notebook_document__did_change(self, params: types.DidChangeNotebookDocumentParams) -> None:
        """Apply changes of the structure, and edits in cells."""
        self.hear(types.NOTEBOOK_DOCUMENT_DID_CHANGE, params)

    @lsp_method(types.NOTEBOOK_DOCUMENT_DID_CLOSE)
    def lsp_notebook_document__did_close(self, params: types.DidCloseNotebookDocumentParams) -> None:
        """Give a notebook back."""
        self.hear(types.NOTEBOOK_DOCUMENT_DID_CLOSE, params)
