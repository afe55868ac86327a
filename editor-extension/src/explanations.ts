/** The pages that explain codes of findings, and the language page with its rules. */
import * as vscode from "vscode";

const CODE = /^STEP\d{3}$/;
const ANCHOR = /^[a-z][a-z0-9-]*$/;

/**
 * The page of a code, or the section of the language page with an anchor, which the server says to be at `page`;
 * undefined for what is no page of ours. It is one of the extension's own files, wherever the message came from.
 */
export function explanationOf(extension: vscode.Uri, subject: unknown, page: unknown): vscode.Uri | undefined {
  if (typeof subject !== "string" || typeof page !== "string") {
    return undefined;
  }
  const uri = vscode.Uri.parse(page);
  const isOwn = uri.scheme === "file" && uri.path.startsWith(`${extension.path}/`) && !uri.path.split("/").includes("..");
  if (isOwn && CODE.test(subject) && uri.path.endsWith(`/stepcore/findings/explain/${subject}.md`)) {
    return uri;
  }
  return isOwn && ANCHOR.test(subject) && uri.path.endsWith("/stepcore/findings/language.md") ? uri.with({ fragment: subject }) : undefined;
}
