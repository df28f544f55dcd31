import type { INestApplicationContext } from '@nestjs/common';
import { AccountDeletion, type AccountDetails, Accounts, CancellationOutbox } from '../../domain/accounts/index.js';
import { BY_OPERATOR } from '../../domain/auth/audit/index.js';
import { Suspensions, type UserEntity } from '../../domain/auth/index.js';
import type { Report } from './report.js';
import { accountOf, withService } from './with-service.js';

/** Suspends an account on every instance within five seconds; has no effect on a suspended one. @throws NotFound */
export function suspendUser(email: string): Promise<Report> {
  return withService(async (service) => {
    const user = await accountOf(service, email);
    const changed = await service.get(Suspensions).suspend(user.id);
    const text = changed
      ? `${user.email} is suspended: it cannot sign in, and its sessions and tokens are refused. Its data is kept.`
      : `${user.email} was already suspended.`;
    return { ...fieldsOf(user), state: 'suspended', changed, text };
  });
}

/** Ends a suspension at once. @throws NotFound */
export function resumeUser(email: string): Promise<Report> {
  return withService(async (service) => {
    const user = await accountOf(service, email);
    const changed = await service.get(Suspensions).resume(user.id);
    const text = changed
      ? `${user.email} is active again, with the sessions and tokens it had.`
      : `${user.email} was not suspended.`;
    return { ...fieldsOf(user), state: 'active', changed, text };
  });
}

/** Reports what either command would do. @throws NotFound */
export function previewSuspension(email: string, isToBeSuspended: boolean): Promise<Report> {
  return withService(async (service) => {
    const user = await accountOf(service, email);
    const state = isToBeSuspended ? 'suspended' : 'active';
    const changed = (user.suspendedAt !== null) !== isToBeSuspended;
    const text = changed ? `${user.email} would be ${state}.` : `${user.email} is already ${state}.`;
    return { dryRun: true, ...fieldsOf(user), state, changed, text };
  });
}

const fieldsOf = ({ id, email }: UserEntity): { id: string; email: string } => ({ id, email });

/**
 * Permanently deletes an account, as its owner can: from then on nobody can sign in to it, open sockets are closed within
 * seconds, and a running service purges the rows and blobs of its workspaces. @throws NotFound
 */
export function deleteUser(email: string): Promise<Report> {
  return withService(async (service) => {
    const user = await accountOf(service, email);
    const held = await holdings(service, user.id);
    await service.get(AccountDeletion).delete(user.id, user.email, BY_OPERATOR);
    await service.get(CancellationOutbox).settled();
    const text = `Deleted ${user.email} with ${inWords(held)}.`;
    return { id: user.id, email: user.email, ...held, text };
  });
}

/** Reports what would be deleted. @throws NotFound */
export function previewDeletion(email: string): Promise<Report> {
  return withService(async (service) => {
    const user = await accountOf(service, email);
    const held = await holdings(service, user.id);
    const text = `${user.email} would be permanently deleted, with ${inWords(held)}.`;
    return { dryRun: true, id: user.id, email: user.email, ...held, text };
  });
}

type Holdings = Pick<AccountDetails, 'workspaces' | 'documentBytes' | 'assetBytes'>;

async function holdings(service: INestApplicationContext, userId: string): Promise<Holdings> {
  const { workspaces, documentBytes, assetBytes } = await service.get(Accounts).get(userId);
  return { workspaces, documentBytes, assetBytes };
}

function inWords({ workspaces, documentBytes, assetBytes }: Holdings): string {
  const all = workspaces === 1 ? '1 workspace' : `${workspaces} workspaces`;
  return `${all}, ${documentBytes} bytes of documents and ${assetBytes} bytes of assets`;
}
