import { VISITOR } from '../../kit/tour/page-list.js';
import { Stage } from '../../kit/tour/stage.js';
import { describeTours, MANY_PAGES_MS } from '../../kit/tour/tours.js';
import { VisitorTour } from '../../kit/tour/visitor.js';

describeTours((stage) => {
  const visitor = async (): Promise<void> => {
    const walk = await stage().walk();
    const tour = new VisitorTour(stage(), walk);
    await tour.readPublicPages();
    await tour.meetErrors();
    const narrow = await Stage.start({ requestsPerMinute: 60 });
    const hasty = await narrow.walk();
    await new VisitorTour(narrow, hasty).askTooOften();
    await narrow.close();
    expect([...walk.seen, ...hasty.seen].sort()).toEqual(Object.keys(VISITOR).sort());
  };
  it('of a visitor without an account, who meets every error', visitor, MANY_PAGES_MS);
});
