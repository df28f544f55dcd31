import type { INestApplicationContext } from '@nestjs/common';
import { AccountDeletion, type AccountDetails, Accounts, CancellationOutbox } from '../account/index.js';
import { accountOf } from './account-of.js';
import type { Report } from './report.js';
import { withService } from './with-service.js';

/**
 * Deletes an account for good, as its owner can: nobody can sign in to it from then on, open sockets are closed within
 * seconds, and a running service removes rows and bytes of its workspaces. @throws NotFound
 */
export function deleteUser(email: string): Promise<Report> {
  return withService(async (service) => {
    const user = await accountOf(service, email);
    const held = await holdings(service, user.id);
    await service.get(AccountDeletion).delete(user.id, user.email);
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
    const text = `${user.email} would be deleted for good, with ${inWords(held)}.`;
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
