/** `keyturn app`: the apps of this computer and what each may reach. */
import { defineNoun } from '../terminal/command.ts';
import { allowApp } from './app/allow.ts';
import { denyApp } from './app/deny.ts';
import { listApps } from './app/list.ts';
import { removeApp } from './app/remove.ts';
import { revokeApp } from './app/revoke.ts';

export const command = defineNoun(
  'app',
  'List, allow, deny and remove apps',
  { list: listApps, allow: allowApp, deny: denyApp, revoke: revokeApp, remove: removeApp },
  'list',
);
