/** The notes of a release: what is new, and what was run where. */

/** The version's part of the changelog, and the table of systems in docs/install.md. Throws where a page lacks its part. */
export function releaseNotes(version: string, changelog: string, install: string): string {
  const part = changelog.split(/^## /m).find((text) => text.startsWith(`${version}\n`));
  if (part === undefined) throw new Error(`CHANGELOG.md has no section "${version}"`);
  const systems = /^\| system \|[^]*?\n(?=\n)/m.exec(install)?.[0];
  if (systems === undefined) throw new Error('docs/install.md has no table of systems');
  return `# Keyturn ${part.trim()}\n\n## What was run where\n\n${systems}`;
}
