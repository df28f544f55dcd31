import { describeWithBrowser } from '../browser.js';
import { OperatorTour } from './operator.js';
import { PERSON } from './page-list.js';
import { PersonTour } from './person.js';
import { Stage } from './stage.js';

/** A limit for hangs on a slow machine: forty pages, each checked four times. */
export const MANY_PAGES_MS = 900_000;

/**
 * The tours of users through the service in one browser, with a mail server. Every page is checked;
 * scripts/screenshots.mjs runs them for the pictures of docs/guide/tour.md.
 */
export function describeTours(tours: (stage: () => Stage) => void): void {
  describeWithBrowser('the tour', () => {
    let stage: Stage;
    beforeAll(async () => void (stage = await Stage.start()));
    afterAll(() => stage.close());
    tours(() => stage);
  });
}

/** From the invitation to the deletion of the account. */
export async function tourOfPerson(stage: Stage, hasScript: boolean, domain: string): Promise<void> {
  const administrator = new OperatorTour(stage, await stage.walk(), `person.${domain}`);
  await administrator.becomeAdministrator();
  const link = await administrator.invite(`grace@${domain}`);

  const walk = await stage.walk(hasScript);
  const tour = new PersonTour(stage, walk, domain);
  await tour.acceptInvitation(link);
  await tour.signUp();
  await tour.setUpFactor();
  await tour.signInApps();
  await tour.useApps();
  await tour.losePhone();
  await tour.forgetPassword();
  await tour.changeAddress();
  await tour.turnMailsOff();
  await tour.changePassword();
  await tour.mintToken();
  await tour.deleteWorkspace();
  expect(await tour.exportAll()).toMatch(/\.tar$/);
  await tour.deleteAccount();
  expect([...new Set(walk.seen)].sort()).toEqual(Object.keys(PERSON).sort());
}
