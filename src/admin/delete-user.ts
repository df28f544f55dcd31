import { AccountDeletion, Accounts, OwedCancellations } from '../account/index.js';
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
    const { workspaces, assetBytes } = await service.get(Accounts).get(user.id);
    await service.get(AccountDeletion).delete(user.id, user.email);
    await service.get(OwedCancellations).settled();
    const text = `Deleted ${user.email} with ${inWords(workspaces)}.`;
    return { id: user.id, email: user.email, workspaces, assetBytes, text };
  });
}

/** What would go. @throws NotFound */
export function previewDeletion(email: string): Promise<Report> {
  return withService(async (service) => {
    const user = await accountOf(service, email);
    const { workspaces, assetBytes } = await service.get(Accounts).get(user.id);
    const text = `${user.email} would be deleted for good, with ${inWords(workspaces)}.`;
    return { dryRun: true, id: user.id, email: user.email, workspaces, assetBytes, text };
  });
}

const inWords = (workspaces: number): string =>
  workspaces === 1 ? '1 workspace' : `${workspaces} workspaces`;
