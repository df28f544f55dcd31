import { codesOf } from '../second-factor.js';
import type { Stage } from './stage.js';
import type { Walk } from './walk.js';

const EMAIL = 'hedy@example.org';

/** Signs in through the provider: first without an account, then with one, then with a second factor. */
export async function signInThroughProvider(stage: Stage, walk: Walk): Promise<void> {
  const provider = stage.provider!;
  const { sub } = provider.person('hedy', { name: 'Hedy Lamarr' });
  await walk.open('/account');
  await walk.look('single-sign-on');

  // The provider first answers with 204, so that the page that leads to it stays.
  await walk.page.route(`${provider.url}/**`, (route) => route.fulfill({ status: 204 }));
  await walk.press('Continue with Our Login');
  await walk.see('You sign in at');
  await walk.look('single-sign-on-leaving');
  await walk.page.unrouteAll();
  await walk.follow('Go to Our Login');
  await walk.page.getByLabel('Who are you?').fill(sub);
  await walk.press('Sign in');
  await walk.see('There is no account for you yet');
  await walk.look('single-sign-on-refused');

  await stage.createAccount(EMAIL, 'Hedy Lamarr');
  await walk.follow('Start again');
  await walk.press('Continue with Our Login');
  await walk.see('Plan and storage');
  await walk.look('single-sign-on-account');

  await walk.unfold('Set up the second factor');
  await walk.press('Begin');
  await walk.see('Scan this');
  const code = codesOf(stage.service, await walk.page.locator('input[name=uri]').inputValue());
  await walk.fill('Confirm the second factor', { 'Code that the app shows': code() });
  await walk.press('Turn on the second factor');
  await walk.follow('I have saved them');
  await walk.signOut();
  await walk.press('Continue with Our Login');
  await walk.see('Enter the code');
  await walk.look('single-sign-on-code');
}
