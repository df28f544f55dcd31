import supertest from 'supertest';
import type { Stage } from './stage.js';
import type { Walk } from './walk.js';

/** A visitor without an account: the public pages, and all errors. */
export class VisitorTour {
  constructor(
    private readonly stage: Stage,
    private readonly walk: Walk,
  ) {}

  async readPublicPages(): Promise<void> {
    const { walk } = this;
    await walk.open('/');
    await walk.see('Keeps workspaces');
    await walk.look('home');
    await walk.follow('Readme');
    await walk.page.getByRole('heading', { name: 'Cloud Sync Service', level: 1 }).waitFor();
    await walk.look('readme');
    await walk.follow('API');
    await walk.page.getByRole('heading', { level: 1 }).waitFor();
    await walk.look('docs');
    await walk.open('/docs/sync');
    await walk.page.getByRole('heading', { level: 1 }).waitFor();
    await walk.look('docs-group');
  }

  async meetErrors(): Promise<void> {
    const { stage, walk } = this;
    await walk.open('/auth/web-handoff?client_state=short');
    await walk.see('This link does not work');
    await walk.look('error-400');
    await walk.open('/nothing');
    await walk.see('Page not found');
    await walk.look('error-404');
    await walk.open('about:blank');
    await walk.page.setContent(
      '<form method="post" action="http://sync.example.org/account"><button>Win</button></form>',
    );
    await walk.press('Win');
    await walk.see('This request was refused');
    await walk.look('error-403');
    await stage.admin('kill-switch', 'down');
    await walk.open('/account');
    await walk.see('Temporarily unavailable');
    await walk.look('error-503');
    await stage.admin('kill-switch', 'off');
  }

  /** The last tour of a service with a low limit. */
  async askTooOften(): Promise<void> {
    const { stage, walk } = this;
    stage.service.clock.stopAt(stage.service.clock.now()); // keeps the minute from ending during the inspection
    await walk.open('/'); // the browser caches the style sheet, which is refused later as well
    await walk.see('Keeps workspaces');
    const status = async (): Promise<number> => (await supertest(stage.service.url).get('/account')).status;
    while ((await status()) !== 429);
    await walk.open('/account');
    await walk.see('Too many requests');
    await walk.look('error-429');
  }
}
