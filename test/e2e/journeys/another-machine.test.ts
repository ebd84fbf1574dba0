/** docs/guides/examples/another-machine.md: a program behind a real sshd on loopback asks the desk for one server. */
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { homeInWorld, TestHome } from '../../support/home.ts';
import { sshServer } from '../../support/processes/ssh-server.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { Walk } from './walk.ts';

it('an app on another machine gets a token of one server, until the forward ends', async () => {
  const folder = temporaryFolder();
  const machine = await sshServer(path.join(folder, 'one'), 'build.example');
  const commands = `${machine.commands}:${process.env['PATH'] ?? ''}`;
  const { home, world, resource } = await homeInWorld({ env: { PATH: commands } });
  const walk = new Walk('another-machine', home, { 'https://notes.example/mcp': resource });
  const forward = walk.start();
  const socket = (await forward.prints('.sock')).trim();

  const far = new TestHome({ env: { KEYTURN_VAULT: undefined } });
  onTestFinished(() => far.close());
  const asking = walk.start({ '/run/user/1000/keyturn-forward/build.example@3f9a1c22.sock': socket }, far);
  const origin = { label: 'build.example', hostKey: machine.hostKey };
  expect(await walk.answer('pair')).toMatchObject({ app: 'token@build.example', forward: origin });
  expect(await walk.answer('allow')).toMatchObject({ forward: origin, resource });
  expect(await asking.ended).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\S+\n$/) });
  expect(world.counts().authorizationServer).toMatchObject({ signIns: 1 });

  await walk.run();
  expect(await forward.ended).toMatchObject({ code: 0 });
  const later = await far.keyturn(['token', resource, '--no-input'], { env: { KEYTURN_SOCKET: socket } });
  expect(later).toMatchObject({ code: 8 });
});
