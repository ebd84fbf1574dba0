/** `keyturn request`: what waits for your approval. */
import { defineNoun } from '../terminal/command.ts';
import { approveRequest } from './request/approve.ts';
import { denyRequest } from './request/deny.ts';
import { listRequests } from './request/list.ts';

export const command = defineNoun(
  'request',
  'List, approve and deny requests that wait for you',
  { list: listRequests, approve: approveRequest, deny: denyRequest },
  'list',
);
