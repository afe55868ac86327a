/** What our pages have in common. They load nothing but our own files, and run no script without the nonce. */

/** Addresses as a page may load them. */
export interface Resources {
  readonly script: string;
  readonly style: string;
  /** The origin of our files, for the content security policy. */
  readonly source: string;
  readonly nonce: string;
}

export const button = (id: string, title: string, content: string, more = ""): string =>
  `<button type="button" id="${id}" title="${title}" aria-label="${title}"${more}>${content}</button>`;

/** A whole page; `more` are further directives of its policy, `attributes` those of its body. */
export function framed(
  resources: Resources,
  title: string,
  body: string,
  more: readonly string[] = [],
  attributes = "",
): string {
  const { script, style, source, nonce } = resources;
  const policy = ["default-src 'none'", `style-src ${source}`, `script-src 'nonce-${nonce}'`, ...more].join("; ");
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="${style}">
<title>${title}</title>
</head>
<body${attributes}>
${body}
<script nonce="${nonce}" src="${script}"></script>
</body>
</html>
`;
}
