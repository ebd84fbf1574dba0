/** The licenses of everything that a package of ours holds, for its `copyright` file. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { nodePackage, root } from './program.ts';

interface Entry {
  readonly version?: string;
  readonly license?: string;
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly devOptional?: boolean;
  readonly link?: boolean;
}

/** Compiled into native packages, or optional and shipped all the same. */
const optionalButShipped = /^node_modules\/(keytar|@koromix\/koffi-linux-(x64|arm64))$/;

export function notices(): string {
  const lock = JSON.parse(readFileSync(path.join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, Entry>;
  };
  const shipped = Object.entries(lock.packages).filter(
    ([where, { dev, devOptional, optional, link }]) =>
      where.startsWith('node_modules/') &&
      !link &&
      existsSync(path.join(root, where)) &&
      (optionalButShipped.test(where) || !(dev || devOptional || optional)),
  );
  return [
    'Keyturn is under the Apache License 2.0: /usr/share/common-licenses/Apache-2.0',
    'Copyright: the Keyturn maintainers and contributors.',
    `It holds the packages below, each with its own license, and Node.js.`,
    ...shipped.map(([where, entry]) => notice(where, entry)),
    `${rule}\nNode.js\n\n${readFileSync(path.join(nodePackage, 'LICENSE'), 'utf8')}`,
  ].join('\n\n');
}

const rule = '-'.repeat(78);

function notice(where: string, { version = '', license = 'see its file' }: Entry): string {
  const folder = path.join(root, where);
  const files = readdirSync(folder).filter((name) => /^(licen[cs]e|notice|copying)/i.test(name));
  const name = where.slice('node_modules/'.length);
  const texts = files.map((file) => readFileSync(path.join(folder, file), 'utf8').trim());
  const stated = license === 'Apache-2.0' ? ['/usr/share/common-licenses/Apache-2.0'] : texts;
  return `${rule}\n${name} ${version}, ${license}\n\n${stated.join('\n\n')}`;
}
