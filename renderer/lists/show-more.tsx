/** The end of a list that has more: goes on by itself when it comes into sight, and by a press. */
import { useEffect, useRef } from 'preact/hooks';
import { strings } from '../base/strings.ts';

export function ShowMore({ onMore }: { readonly onMore: () => void }) {
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    const observer = new IntersectionObserver((entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) onMore();
    });
    if (button.current) observer.observe(button.current);
    return () => observer.disconnect();
  });
  return (
    <button type="button" class="more" ref={button} onClick={onMore}>
      {strings.showMore}
    </button>
  );
}
