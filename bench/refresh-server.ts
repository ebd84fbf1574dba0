/**
 * The token server (token-server.ts) in a process of its own, so that its work isn't the bench's. Prints its issuer and its
 * authority as one line of JSON. Answers each message with the number of refreshes so far. Its first word: how many
 * milliseconds a refresh takes.
 */
import process from 'node:process';
import { throwAwayCertificates } from '../src/serve/certificate.ts';
import { startTokenServer } from './token-server.ts';

const certificates = await throwAwayCertificates();
const answerAfter = Number(process.argv[2] ?? 0);
const server = await startTokenServer({ certificates, answerAfter, rotates: true });
process.stdin.on('data', () => process.stdout.write(`${server.refreshes()}\n`));
process.stdout.write(`${JSON.stringify({ issuer: server.issuer, ca: certificates.ca })}\n`);
