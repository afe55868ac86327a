import torch

from distill import distillation_loss


def test_teacher_equals_student():
    logits = torch.randn(16, 10)
    loss = distillation_loss(
        labels=torch.randint(0, 10, (16,)),
        teacher_logits=logits,
        student_logits=logits,
        alpha=1.0,
    )
    assert loss.abs() < 1e-6
