/** The environment that a broker gets which nobody started on purpose. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { environmentFor } from '../../../src/cli/broker/auto-start.ts';

const always = { PATH: '/bin', LANG: 'C', TZ: 'UTC', XDG_RUNTIME_DIR: '/run/1', WAYLAND_DISPLAY: 'way-0' };
const atCreation = {
  KEYTURN_VAULT: 'memory',
  KEYTURN_BROWSER: 'firefox',
  BROWSER: 'lynx',
  NODE_EXTRA_CA_CERTS: '/etc/ca.pem',
  HTTPS_PROXY: 'http://proxy.example',
  NO_PROXY: 'intern.example',
  KEYTURN_ALLOW_INSECURE_LOOPBACK: '1',
};
const never = {
  NODE_OPTIONS: '--inspect',
  NODE_TLS_REJECT_UNAUTHORIZED: '0',
  SSLKEYLOGFILE: '/tmp/keys',
  LD_PRELOAD: '/tmp/evil.so',
  DYLD_INSERT_LIBRARIES: '/tmp/evil.dylib',
  ELECTRON_RUN_AS_NODE: '1',
  OPENSSL_CONF: '/tmp/openssl.cnf',
  KEYTURN_DEBUG: '1',
  GITHUB_TOKEN: 'not-ours',
};

describe('an auto-started broker', () => {
  it('gets what is recorded at the making of a home only while there is none', () => {
    const home = temporaryFolder();
    const env = { ...always, ...atCreation, ...never, KEYTURN_HOME: home };
    expect(environmentFor(env)).toEqual({ ...always, ...atCreation, KEYTURN_HOME: home });
    // Either is enough: another program can delete one.
    for (const file of ['config/owner.key', 'state/document.json']) {
      mkdirSync(path.join(home, path.dirname(file)));
      writeFileSync(path.join(home, file), '{}');
      expect(environmentFor(env), file).toEqual({ ...always, KEYTURN_HOME: home });
      rmSync(path.join(home, file));
    }
  });

  it('is started for no home that a relative path names', () => {
    expect(() => environmentFor({ KEYTURN_HOME: 'here' })).toThrow(/KEYTURN_HOME is "here"/);
  });
});
