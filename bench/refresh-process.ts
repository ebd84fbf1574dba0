/**
 * Token servers (token-server.ts) in a process of their own, so that their work isn't the bench's. Prints their issuers and
 * their authority as one line of JSON. Answers each message with the number of refreshes so far. Its words: how many
 * milliseconds a refresh takes, and how many servers there are (one).
 */
import process from 'node:process';
import { throwAwayCertificates } from '../src/serve/certificate.ts';
import { startTokenServer } from './token-server.ts';

const [, , answerAfter = 0, count = 1] = process.argv;
const certificates = await throwAwayCertificates();
const servers = await Promise.all(
  Array.from({ length: Number(count) }, async () =>
    startTokenServer({ certificates, answerAfter: Number(answerAfter), rotates: true }),
  ),
);
const refreshes = (): number => servers.reduce((sum, server) => sum + server.refreshes(), 0);
process.stdin.on('data', () => process.stdout.write(`${refreshes()}\n`));
const issuers = servers.map(({ issuer }) => issuer);
process.stdout.write(`${JSON.stringify({ issuers, ca: certificates.ca })}\n`);
