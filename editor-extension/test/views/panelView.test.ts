import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { pageHtml } from "../../src/views/panel/html";
import {
  anchored,
  fitted,
  isAllSeen,
  LARGEST,
  neighbour,
  opening,
  revealing,
  SMALLEST,
  zoomed,
} from "../../src/views/panel/navigate";
import { graph, pictureOf } from "./fakes";

const SCREEN = { width: 400, height: 300 };

describe("moving and scaling", () => {
  test("what is under the pointer stays there", () => {
    const view = { x: 10, y: 20, scale: 1 };
    const at = { x: 100, y: 50 };
    const next = zoomed(view, 2, at);
    assert.equal(next.scale, 2);
    assert.equal((at.x - view.x) / view.scale, (at.x - next.x) / next.scale);
    assert.equal((at.y - view.y) / view.scale, (at.y - next.y) / next.scale);
    assert.equal(zoomed(view, 1e9, at).scale, LARGEST);
    assert.equal(zoomed(view, 1e-9, at).scale, SMALLEST);
  });

  test("fitting shows all of it, in the middle, and blows nothing up", () => {
    assert.deepEqual(fitted({ width: 800, height: 300 }, SCREEN), { scale: 0.5, x: 0, y: 75 });
    assert.deepEqual(fitted({ width: 100, height: 100 }, SCREEN), { scale: 1, x: 150, y: 100 });
    assert.ok(Number.isFinite(fitted({ width: 0, height: 0 }, SCREEN).scale));
  });

  test("what was fitted is seen as a whole at every size, what was moved or scaled is not", () => {
    for (let width = 401; width < 2_000; width += 1) {
      const picture = { width, height: width / 3 };
      const view = fitted(picture, SCREEN);
      assert.ok(isAllSeen(picture, view, SCREEN), String(width));
      assert.ok(!isAllSeen(picture, { ...view, x: view.x - 40 }, SCREEN), String(width));
      assert.ok(!isAllSeen(picture, zoomed(view, 1.1, { x: 0, y: 0 }), SCREEN), String(width));
    }
  });

  test("a long program begins at its top at a readable size", () => {
    const first = { x: 3_000, y: 20, width: 100, height: 30 };
    const view = opening({ width: 300, height: 5_000 }, SCREEN, first);
    assert.deepEqual(view, { scale: 1, x: 50, y: 0 });
    const wide = opening({ width: 4_000, height: 5_000 }, SCREEN, first);
    assert.equal(wide.scale, 0.6);
    assert.equal(wide.x + 3_050 * wide.scale, SCREEN.width / 2);
  });

  test("a box that is seen does not move the view, another one as little as needed", () => {
    const view = { x: 0, y: 0, scale: 1 };
    const box = { x: 50, y: 50, width: 100, height: 40 };
    assert.deepEqual(revealing(view, box, SCREEN), view);
    assert.deepEqual(revealing(view, { ...box, y: 500 }, SCREEN), { x: 0, y: 300 - 30 - 540, scale: 1 });
    assert.deepEqual(revealing(view, { ...box, x: -80 }, SCREEN), { x: 110, y: 0, scale: 1 });
  });

  test("a node that both pictures have stays put", () => {
    const view = { x: 5, y: 5, scale: 2 };
    const before = { x: 10, y: 10, width: 20, height: 20 };
    assert.deepEqual(anchored(view, before, { ...before, x: 40 }), { x: 5 - 60, y: 5, scale: 2 });
    assert.equal(anchored(view, undefined, before), view);
  });
});

describe("the arrow keys", () => {
  test("walk along a stream and back", async () => {
    const picture = await pictureOf(graph());
    const walk = ["i0", "E0", "n0", "A", "n1", "C", "n2", "D", "o0"];
    walk.slice(1).forEach((id, index) => assert.equal(neighbour(picture, walk[index] ?? "", "ArrowDown"), id));
    assert.equal(neighbour(picture, "o0", "ArrowDown"), undefined);
    assert.equal(neighbour(picture, "n1", "ArrowUp"), "A");
    assert.equal(neighbour(picture, "A", "ArrowUp"), "n0");
  });

  test("step sideways between the streams of one node", async () => {
    const picture = await pictureOf(graph());
    const [left, right] = picture.edges
      .filter((item) => item.edge.source === "n0")
      .sort((a, b) => a.box.x - b.box.x)
      .map((item) => item.edge.id);
    assert.ok(left !== undefined && right !== undefined);
    assert.equal(neighbour(picture, left, "ArrowRight"), right);
    assert.equal(neighbour(picture, right, "ArrowLeft"), left);
    assert.equal(neighbour(picture, left, "ArrowLeft"), undefined);
  });

  test("find a node to the side, and begin anywhere", async () => {
    const picture = await pictureOf(graph());
    assert.equal(neighbour(picture, "nobody", "ArrowDown"), "i0");
    const moved = ["ArrowLeft", "ArrowRight"].map((arrow) => neighbour(picture, "n1", arrow as "ArrowLeft"));
    assert.ok(moved.some((id) => id !== undefined && id !== "n1"));
  });
});

test("the page allows our own files only, and scripts with the nonce", () => {
  const html = pageHtml({ script: "vs:/panel.js", style: "vs:/p.css", worker: "vs:/elk.js", source: "vs:", nonce: "abc" });
  const policy = /Content-Security-Policy" content="([^"]*)"/.exec(html)?.[1] ?? "";
  assert.equal(
    policy,
    "default-src 'none'; style-src vs:; script-src 'nonce-abc'; connect-src vs:; worker-src blob:",
  );
  assert.ok(!/unsafe|https?:/.test(html));
  const scripts = html.match(/<script[^>]*>/g) ?? [];
  assert.deepEqual(scripts, ['<script nonce="abc" src="vs:/panel.js">']);
  assert.ok(!/ style=| on[a-z]+=/.test(html));
  const buttons = html.match(/<button[^>]*>/g) ?? [];
  assert.ok(buttons.length >= 6 && buttons.every((item) => /aria-label="[^"]+"/.test(item)));
});
