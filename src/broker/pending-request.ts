/** A token request on its way, as every step of it sees it. Types only. */
import type { RequestDeadline } from '../base/request-deadline.ts';
import type { AccessRequest } from './consent/current-permissions.ts';
import type { TokenRequest } from './questions/token-request.ts';
import type { Permission } from './records/permission.ts';

export interface PendingRequest {
  readonly request: TokenRequest;
  readonly endpoint: string;
  /** What the answer must carry. Names a grant once the person has chosen one for this request. */
  access: AccessRequest;
  readonly deadline: RequestDeadline;
  /** One sign-in for one request, besides a step-up. */
  hasSignedIn: boolean;
}

/** One try to answer it, under one permission. */
export interface PermittedRequest {
  readonly pending: PendingRequest;
  readonly access: AccessRequest;
  readonly permission: Permission;
}
