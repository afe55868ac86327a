/** The pages that explain codes of findings. */
import * as vscode from "vscode";

const CODE = /^STEP\d{3}$/;

/**
 * The page of a code, which the server says to be at `page`; undefined for what is no page of ours. It is one of the
 * extension's own files, wherever the message came from.
 */
export function explanationOf(extension: vscode.Uri, code: unknown, page: unknown): vscode.Uri | undefined {
  if (typeof code !== "string" || !CODE.test(code) || typeof page !== "string") {
    return undefined;
  }
  const uri = vscode.Uri.parse(page);
  const isOwn = uri.scheme === "file" && uri.path.startsWith(`${extension.path}/`) && !uri.path.split("/").includes("..");
  return isOwn && uri.path.endsWith(`/stepcore/explain/${code}.md`) ? uri : undefined;
}
