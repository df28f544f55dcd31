import type { Stage } from './stage.js';
import type { Walk } from './walk.js';

/** Adds a passkey with Chromium's virtual authenticator, and signs in with it. */
export async function usePasskeys(stage: Stage, walk: Walk): Promise<void> {
  const session = await walk.page.context().newCDPSession(walk.page);
  await session.send('WebAuthn.enable');
  await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  await stage.createAccount('maria@example.org', 'Maria Mitchell');
  await walk.open('/account');
  await walk.signIn('maria@example.org');
  await walk.unfold('Add a passkey');
  await walk.look('passkey-form');
  await walk.fill('Add a passkey', { Name: 'Laptop' });
  await walk.press('Add the passkey');
  await walk.page.getByRole('button', { name: 'Remove passkey Laptop' }).waitFor();
  await walk.look('passkey');
  await walk.signOut();
  await walk.look('passkey-sign-in');
  await walk.press('Sign in with a passkey');
  await walk.page.getByRole('heading', { name: 'Maria Mitchell' }).waitFor();
}
