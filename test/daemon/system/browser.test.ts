/** How a URL reaches a browser: one argument of a program, never through a shell. */
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { isService, openBrowser } from '../../../src/daemon/system/browser.ts';
import { until } from '../../support/home.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

let folder: string;

beforeEach(() => {
  folder = temporaryFolder();
});

/** A program that writes its arguments down, one a line. */
function scribe(name: string): string {
  const file = path.join(folder, name);
  writeFileSync(
    file,
    `#!/bin/sh\nprintf '%s\\n' "$@" > '${folder}/written'; mv '${folder}/written' '${folder}/read'\n`,
  );
  chmodSync(file, 0o700);
  return file;
}

async function argumentsGiven(): Promise<string[]> {
  const text = await until('the browser ran', () => {
    try {
      return readFileSync(path.join(folder, 'read'), 'utf8');
    } catch {
      return undefined;
    }
  });
  return text.split('\n').slice(0, -1);
}

const url = 'https://issuer.example/auth?state=a&scope=a%20b;$(touch x)`touch y`\'"|&*';
const env = { PATH: process.env['PATH'] };

describe('a browser command', () => {
  it('N-11: gets its own arguments and then the URL as one argument', async () => {
    await openBrowser(url, { command: `${scribe('browser')} --private  --new-window`, env });
    expect(await argumentsGiven()).toEqual(['--private', '--new-window', url]);
  });

  it('gets a systemd unit of its own, which expands nothing in the URL', async () => {
    scribe('systemd-run');
    const where = { PATH: `${folder}:${process.env['PATH']}`, DISPLAY: ':7', NODE_EXTRA_CA_CERTS: '/ca' };
    await openBrowser(url, { command: 'firefox', env: where, isService: true });
    const given = await argumentsGiven();
    const own = given.slice(0, given.indexOf('--'));
    expect(own).toEqual(
      expect.arrayContaining(['--user', '--setenv=DISPLAY=:7', '--setenv=NODE_EXTRA_CA_CERTS=/ca']),
    );
    expect(given.slice(given.indexOf('--') + 1)).toEqual(['firefox', url.replace('$', '$$$$')]);
    expect(isService({ SYSTEMD_EXEC_PID: String(process.pid) })).toBe(true);
    // A terminal that systemd started hands its own variables to what a user runs in it.
    expect(isService({ SYSTEMD_EXEC_PID: String(process.ppid) })).toBe(false);
  });
});
